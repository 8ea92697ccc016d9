//! Runs `tengen bench` and `tengen doctor` and checks that they measure something, but not how much.

#[cfg(feature = "torch")]
use std::path::Path;

use serde_json::Value;

use crate::common::tengen;

fn bench(args: &[&str]) -> Value {
    tengen(&[&["bench"], args, &["--seconds", "0.1", "--json"]].concat()).json()
}

#[track_caller]
fn positive(report: &Value, keys: &[&str]) {
    for key in keys {
        assert!(
            report[key].as_f64().is_some_and(|figure| figure > 0.0),
            "{key} in {report}"
        );
    }
}

#[test]
fn measures_rules_search_and_data() {
    for workload in ["light", "scan"] {
        let report = bench(&["rules", "--size", "5", "--workload", workload]);
        positive(
            &report,
            &[
                "moves_per_second",
                "games_per_second",
                "bytes_per_position",
                "peak_memory_bytes",
            ],
        );
    }
    let report = bench(&["search", "--size", "5", "--visits", "20", "--threads", "2"]);
    positive(
        &report,
        &["visits_per_second", "evaluations_per_second", "peak_memory_bytes"],
    );
    let report = bench(&["data", "--size", "4", "--games", "4"]);
    positive(&report, &["positions_per_second", "bytes_per_position", "mean_batch"]);
    // A window many times larger than the memory allowed for it stays on disk, and no file is left behind.
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let window = ["--window", "300000", "--cache", place, "--cache-mib", "1"];
    let report = bench(&[&["data", "--size", "5", "--games", "64"], &window[..]].concat());
    positive(&report, &["samples_per_second", "samples_per_second_replayed"]);
    let figure = |key: &str| report[key].as_u64().unwrap();
    assert!(figure("window_positions") >= 300_000);
    assert!(figure("cache_bytes") > 30 << 20, "{report}");
    let small = bench(&["data", "--size", "5", "--games", "64"]);
    let more = figure("peak_memory_bytes").saturating_sub(small["peak_memory_bytes"].as_u64().unwrap());
    assert!(
        more < figure("cache_bytes") / 3,
        "{more} more bytes of memory: {report}"
    );
    assert_eq!(std::fs::read_dir(place).unwrap().count(), 0);
}

#[cfg(feature = "torch")]
#[test]
fn networks() {
    let small = ["--network", "b1c8", "--size", "4"];
    let report = bench(&[&["network"], &small[..], &["--batch", "1,4"]].concat());
    positive(&report, &["positions_per_second", "evaluations_per_second"]);
    assert_eq!(report["batches"][1]["batch"], 4);
    let report = bench(
        &[
            &["selfplay"],
            &small[..],
            &["--visits", "4", "--threads", "2", "--games", "4"],
        ]
        .concat(),
    );
    positive(&report, &["evaluations_per_second", "visits_per_second", "mean_batch"]);
    let report = bench(&[&["train"], &small[..], &["--batch", "8", "--dtype", "auto"]].concat());
    positive(&report, &["positions_per_second", "mean_batch", "peak_memory_bytes"]);
}

#[test]
fn prints_a_table_without_json() {
    let answer = tengen(&["bench", "rules", "--size", "3", "--seconds", "0.1"]);
    assert!(answer.stdout.contains("moves per second"), "{}", answer.stdout);
}

#[test]
fn doctor_describes_the_machine() {
    let report = tengen(&["doctor", "--seconds", "0.2", "--json"]).json();
    positive(&report["system"], &["cores"]);
    assert_eq!(report["system"]["allocator"], "mimalloc");
    assert!(!report["advice"].as_array().unwrap().is_empty());
    #[cfg(feature = "torch")]
    {
        assert!(report["torch"]["path"].as_str().unwrap().contains("libtorch_cpu"));
        positive(&report["torch"]["measured"][0], &["evaluations_per_second", "batch"]);
    }
}

#[cfg(feature = "torch")]
#[test]
fn doctor_finds_settings_for_a_run() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let config = config.to_str().unwrap();
    let tune = [
        "doctor",
        "--tune",
        config,
        "--set",
        "network.blocks=1",
        "--seconds",
        "0.2",
    ];
    let report = tengen(&[&tune[..], &["--json"]].concat()).json();
    positive(
        &report["chosen"],
        &["workers", "groups", "games", "evaluations_per_second"],
    );
    positive(&report, &["steps_per_second", "steps_wanted"]);
    let text = tengen(&tune).stdout;
    assert!(text.contains("[loop]\nworkers = "), "{text}");
    tengen(&["doctor", "--tune", "no/such.toml"]).refuses(1, "no/such.toml");
    tengen(&["doctor", "--set", "network.blocks=1"]).refuses(2, "--tune");
}

#[test]
fn usage_errors_are_one_sentence() {
    tengen(&["bench", "rules", "--seconds", "0"]).refuses(2, "not a positive number of seconds");
    tengen(&["bench", "rules", "--workload", "heavy"]).refuses(2, "light, scan");
    tengen(&["bench", "search", "--threads", "0"]).refuses(2, "at least 1");
    #[cfg(feature = "torch")]
    {
        tengen(&["bench", "network", "--network", "big"]).refuses(2, "b4c32");
        tengen(&["bench", "network", "--batch", "1,x"]).refuses(2, "whole number");
        tengen(&["bench", "network", "--dtype", "half"]).refuses(2, "fp16");
        tengen(&["bench", "network", "--dtype", "fp16"]).refuses(1, "fp16 is a format for GPUs");
        for alone in ["network", "train"] {
            let two = ["bench", alone, "--device", "cuda:0,cuda:1"];
            tengen(&two).refuses(2, "computes on one device, not on cuda:0,cuda:1");
        }
        for two in ["simulated:1:1000,simulated:1:1000", "cuda:0,cuda:1"] {
            let refused = "there are 2 devices, but only 1 thread: name fewer devices, or use --threads 2";
            tengen(&["bench", "selfplay", "--device", two, "--threads", "1"]).refuses(2, refused);
        }
    }
}
