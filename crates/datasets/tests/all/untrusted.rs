//! Store files with arbitrary contents: every query succeeds or fails with an error, and none panics.

use proptest::prelude::*;

/// Pieces of the store's files in any order, which reach further than random characters.
fn json_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "null",
            "true",
            "0",
            "-1",
            "1e999",
            "18446744073709551616",
            "\"\"",
            "\"x\"",
            "\"run_id\":",
            "\"format_version\":\"1.1\"",
            "\"format_version\":\"2.0\"",
            "\"rules\":\"tromp_taylor\"",
            "\"sizes\":[\"3x3\"]",
            "\"weights_sha256\":",
            "\"generation\":",
            "\"model_id\":",
            "\"shard\":",
            "\"reason\":",
            "\"files\":",
            "\"readme\":",
            "\"path\":\"../../x\"",
            "\"sha256\":",
            "\"replaced\":[",
            "\"by\":",
            "\"pruned\":",
            "\"totals\":",
            "\"positions\":",
            "\"games\":",
            "\"steps\":",
            "\"found_ms\":",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    let json = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![4 => json, 1 => prop::collection::vec(any::<u8>(), 0..60)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_file_contents_never_panic(number in 0..crate::ask::FILES.len(), bytes in json_like()) {
        crate::ask::ask_everything(number, &bytes);
    }
}
