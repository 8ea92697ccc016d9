//! Reads a valid shard with some bytes changed, or any bytes, as a shard. Nothing may panic, and all games read are
//! checked. Three bytes of input are an offset from the end of the file and the byte to put there. Counterparts in the
//! default tests: `altered_shards_never_panic` and `any_altered_byte_never_panics` in
//! `crates/store/tests/all/liars.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

use tengen_store::decode;

/// A valid shard of a released version.
const VALID: &[u8] = include_bytes!("../../crates/store/tests/data/golden-v1.1.parquet");

// A panic within the Parquet library is caught and reported, so it must not end the fuzzer; any other panic does.
fuzz_target!(init: drop(std::panic::take_hook()), |input: &[u8]| {
    if input.starts_with(b"PAR1") {
        return read(input);
    }
    let mut bytes = VALID.to_vec();
    for change in input.chunks_exact(3) {
        let offset = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let end = bytes.len() - 1;
        bytes[end - offset % (end + 1)] = change[2];
    }
    read(&bytes);
});

fn read(bytes: &[u8]) {
    for game in decode(bytes).unwrap_or_default() {
        let _ = game.validate();
    }
}
