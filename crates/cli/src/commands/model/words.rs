//! Describes models in words.

use tengen_exchange::ModelSummary;
use tengen_model::ModelInfo;

use crate::output::{counted, thousands};

/// A model in a few lines.
pub(super) fn about(summary: &ModelSummary) -> String {
    let ModelSummary {
        name, network, info, ..
    } = summary;
    let [small, large] = summary.operations.map(|count| count as f64 / 1e6);
    let (from, cost) = (&info.provenance, &info.cost);
    let komi = info.fair_komi_half_points.iter();
    let komi: Vec<String> = komi
        .map(|(size, &half)| format!("{size} {}", f64::from(half) / 2.0))
        .collect();
    let facts = [
        (
            "network",
            format!("{network}, {}", counted(summary.trained_values as u64, "trained value")),
        ),
        (
            "operations",
            format!("{small:.1} million on 9x9, {large:.1} million on 19x19"),
        ),
        ("sha256", info.weights_sha256.clone()),
        ("rules", info.rules.clone().unwrap_or("unknown".to_owned())),
        (
            "training",
            format!("step {} of run {:?}", thousands(from.step), from.run_id),
        ),
        ("parent", from.parent.clone().unwrap_or("none".to_owned())),
        (
            "fair komi",
            if komi.is_empty() {
                "unknown".to_owned()
            } else {
                komi.join(", ")
            },
        ),
        (
            "cost",
            [
                counted(cost.games, "game"),
                counted(cost.positions, "position"),
                counted(cost.evaluations, "evaluation"),
            ]
            .join(", "),
        ),
        (
            "",
            [
                counted(cost.cpu_seconds.round() as u64, "CPU second"),
                counted(cost.gpu_seconds.round() as u64, "GPU second"),
            ]
            .join(", "),
        ),
    ];
    let lines = facts.iter().map(|(what, words)| format!("  {what:<12}{words}"));
    std::iter::once(name.clone())
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A model in one line, for lists.
pub(super) fn one_line(name: &str, info: &ModelInfo) -> String {
    let network = info.architecture.name();
    let (step, games) = (thousands(info.provenance.step), thousands(info.cost.games));
    format!("{name:<22} {network:<10} step {step:>10}  {games:>12} games")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_can_be_read() {
        let shelf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/5x5/model.json");
        let mut info: ModelInfo = serde_json::from_slice(&std::fs::read(shelf).unwrap()).unwrap();
        (info.cost.positions, info.cost.evaluations) = (0, 1);
        info.provenance.step = 79_800;
        info.cost.games = 192_686;
        info.cost.cpu_seconds = 14_399.6;
        let summary = ModelSummary {
            name: "9x9".to_owned(),
            network: "b5c64".to_owned(),
            trained_values: 459_878,
            operations: [61_100_000, 272_100_000],
            info: info.clone(),
        };
        let text = about(&summary);
        for part in [
            "9x9\n  network     b5c64, 459,878 trained values\n  operations  61.1 million on 9x9",
            "step 79,800 of run",
            "cost        192,686 games, 0 positions, 1 evaluation\n              14,400 CPU seconds",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let line = one_line("g000020-1808bcac5643", &info);
        assert!(line.contains("step     79,800       192,686 games"), "{line}");
    }
}
