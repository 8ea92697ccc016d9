//! Fixed 128-bit Zobrist keys: their sum (exclusive or) over all stones is the hash of a coloring.

use crate::color::Color;
use crate::size::MAX_AREA;

static KEYS: [[u128; MAX_AREA]; 2] = keys();

/// Turns a counter into well-mixed bits (the output function of SplitMix64).
const fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const fn key(counter: u64) -> u128 {
    (mix(2 * counter + 1) as u128) << 64 | mix(2 * counter + 2) as u128
}

const fn keys() -> [[u128; MAX_AREA]; 2] {
    let mut keys = [[0; MAX_AREA]; 2];
    let mut i = 0;
    while i < MAX_AREA {
        keys[0][i] = key(2 * i as u64 + 1000);
        keys[1][i] = key(2 * i as u64 + 1001);
        i += 1;
    }
    keys
}

/// The key of a stone of a color at a point.
#[inline]
pub(crate) fn stone(color: usize, point: usize) -> u128 {
    KEYS[color & 1][point]
}

/// The key that distinguishes the two players in superko records.
#[inline]
pub(crate) const fn player(color: Color) -> u128 {
    const PLAYERS: [u128; 2] = [key(1), key(2)];
    PLAYERS[color.index()]
}

/// The hash of an ordered pair of colorings.
#[inline]
pub(crate) const fn pair(before: u128, after: u128) -> u128 {
    let low = mix(before as u64 ^ 0x5bd1_e995_7b93_f0d1);
    let high = mix((before >> 64) as u64 ^ 0x1f83_d9ab_fb41_bd6b);
    after ^ ((high as u128) << 64 | low as u128)
}

/// The key for a button that has been taken.
pub(crate) const BUTTON: u128 = key(3);

/// Turns the hash of a grid into a key, so that the sum of the keys identifies a set of grids.
#[inline]
pub(crate) const fn scatter(hash: u128) -> u128 {
    let low = mix(hash as u64 ^ 0x3c6e_f372_fe94_f82b);
    let high = mix((hash >> 64) as u64 ^ low);
    (high as u128) << 64 | (low ^ (hash >> 64) as u64) as u128
}
