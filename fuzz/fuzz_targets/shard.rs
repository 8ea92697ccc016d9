//! A sound shard with other bytes in some places, or any bytes, are read as a shard: nothing panics, and what is read is
//! judged. Three bytes of input are a place, counted from the end of the file, and the byte that is put there.
//! Its twins in the default tests: `altered_shards_never_panic` and `any_altered_byte_never_panics` in
//! `crates/records/tests/liars.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tengen_store::decode;

/// A released shard.
const SOUND: &[u8] = include_bytes!("../../crates/records/tests/data/golden-v1.1.parquet");

// A panic of the library that reads Parquet is caught and told, so it must not end the fuzzer; one that gets out does.
fuzz_target!(init: drop(std::panic::take_hook()), |input: &[u8]| {
    if input.starts_with(b"PAR1") {
        return read(input);
    }
    let mut bytes = SOUND.to_vec();
    for change in input.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let end = bytes.len() - 1;
        bytes[end - place % (end + 1)] = change[2];
    }
    read(&bytes);
});

fn read(bytes: &[u8]) {
    for game in decode(bytes).unwrap_or_default() {
        let _ = game.validate();
    }
}
