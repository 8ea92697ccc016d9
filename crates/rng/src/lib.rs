//! Random numbers with reproducible streams: the same seed and IDs give the same numbers on any machine.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, 2018), seeded by SplitMix64. Ranges, unit floats and
//! distributions are implemented here because libraries may change their algorithms between versions.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// The random generator used throughout the project.
pub type Rng = Xoshiro256PlusPlus;

/// The generator SplitMix64 (Steele, Lea, Flood, 2014): 64 bits of state, quick to seed, one stream per seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator whose state is this seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 to `bound` − 1, by multiply and shift; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}

/// The output function of SplitMix64, a bijection that scatters all 64 bits.
fn mix(value: u64) -> u64 {
    let mut z = value;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes a seed and a list of IDs into one 64-bit number; the order of the IDs matters.
pub fn fold(seed: u64, ids: &[u64]) -> u64 {
    let mut state = seed;
    for &id in ids {
        let scattered = SplitMix64(state).bits();
        state = scattered ^ mix(id.wrapping_add(0x632b_e59b_d9b4_e019));
    }
    state
}

/// The generator of one stream, identified by the run seed and IDs such as (group, game, ply).
///
/// Streams with different IDs are independent for all practical purposes.
pub fn stream(seed: u64, ids: &[u64]) -> Rng {
    let mut generator = SplitMix64::new(fold(seed, ids));
    let mut bytes = [0u8; 32];
    for chunk in bytes.chunks_exact_mut(8) {
        chunk.copy_from_slice(&generator.bits().to_le_bytes());
    }
    Rng::from_seed(bytes)
}

/// The next 64 random bits.
pub fn bits(rng: &mut Rng) -> u64 {
    rng.next_u64()
}

/// A uniform integer from 0 to `n` − 1, by multiply and shift (bias below `n` / 2^64).
///
/// # Panics
/// If `n` is 0.
pub fn below(rng: &mut Rng, n: usize) -> usize {
    assert!(n > 0, "an empty range has no member");
    ((u128::from(bits(rng)) * n as u128) >> 64) as usize
}

/// A uniform number strictly between 0 and 1, with 53 random bits.
pub fn unit_f64(rng: &mut Rng) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((bits(rng) >> 11) as f64 + 0.5) * STEP
}

/// A standard Gumbel variable, −ln(−ln u) with u strictly between 0 and 1, so that it is always finite.
pub fn gumbel(rng: &mut Rng) -> f64 {
    -(-unit_f64(rng).ln()).ln()
}

/// A standard normal variable (Box and Muller, 1958; the second value of each pair is discarded).
pub fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * unit_f64(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit_f64(rng)).cos()
}

/// A gamma variable with this shape (above 0) and scale 1 (Marsaglia and Tsang, "A simple method for generating gamma
/// variables", 2000); always positive.
pub fn gamma(rng: &mut Rng, shape: f64) -> f64 {
    if shape < 1.0 {
        let boost = unit_f64(rng).powf(1.0 / shape);
        return (gamma(rng, shape + 1.0) * boost).max(f64::MIN_POSITIVE);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && unit_f64(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_match_published_values() {
        let mut generator = SplitMix64::new(0);
        assert_eq!(generator.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(generator.bits(), 0x6e78_9e6a_a1b9_65f4);
        let mut seed = [0u8; 32];
        for (i, chunk) in seed.chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&(i as u64 + 1).to_le_bytes());
        }
        assert_eq!(bits(&mut Rng::from_seed(seed)), 41_943_041);
    }

    #[test]
    fn streams_are_reproducible_and_depend_on_the_order_of_ids() {
        assert_eq!(bits(&mut stream(1, &[2, 3])), bits(&mut stream(1, &[2, 3])));
        assert_ne!(bits(&mut stream(1, &[2, 3])), bits(&mut stream(1, &[3, 2])));
        assert_ne!(bits(&mut stream(1, &[])), bits(&mut stream(1, &[0])));
        assert_ne!(bits(&mut stream(1, &[0])), bits(&mut stream(1, &[0, 0])));
    }

    #[test]
    fn ranges_and_floats_stay_within_bounds() {
        let mut generator = SplitMix64::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[generator.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        let mut rng = stream(7, &[]);
        let mut seen = [0u32; 5];
        for _ in 0..5000 {
            seen[below(&mut rng, 5)] += 1;
            let u = unit_f64(&mut rng);
            assert!(u > 0.0 && u < 1.0);
            assert!(gumbel(&mut rng).is_finite());
        }
        assert!(seen.iter().all(|&n| n > 850 && n < 1150), "{seen:?}");
    }

    #[test]
    fn distributions_have_the_expected_means() {
        let mut rng = stream(8, &[]);
        let n = 20_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || gumbel(&mut rng)) - 0.5772).abs() < 0.03);
        assert!(mean(&mut || normal(&mut rng)).abs() < 0.03);
        assert!((mean(&mut || normal(&mut rng).powi(2)) - 1.0).abs() < 0.05);
    }

    #[test]
    fn gamma_variables_have_the_expected_mean_and_variance() {
        for shape in [0.03, 0.5, 1.0, 4.0] {
            let mut rng = stream(5, &[]);
            let draws: Vec<f64> = (0..40_000).map(|_| gamma(&mut rng, shape)).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            assert!(draws.iter().all(|&x| x > 0.0 && x.is_finite()));
            assert!((mean / shape - 1.0).abs() < 0.1, "{shape}: {mean}");
            assert!((variance / shape - 1.0).abs() < 0.2, "{shape}: {variance}");
        }
    }
}
