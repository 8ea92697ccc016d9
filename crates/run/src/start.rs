//! What a process starts or resumes a run with.

use std::path::Path;

use tengen_config::Changes;
use tengen_metrics::Start;
use tengen_report::counted;

use crate::opened::Opened;
use crate::selfplay;
use crate::training::Training;

/// What this process starts or resumes the run with; `plays` is whether it has self-play threads.
///
/// # Errors
/// If the run's configuration cannot be compared with a shipped one.
pub fn of(run: &Opened, training: &Training, plays: bool) -> anyhow::Result<Start> {
    let Changes { from, settings } = run.given.changes()?;
    let (workers, games_at_once) = match plays {
        true => {
            let games_of_group = u64::from(run.config.selfplay.games_per_group.unwrap_or(0));
            let groups = selfplay::groups(run) as u64;
            (selfplay::threads(run) as u64, games_of_group * groups)
        }
        false => (0, 0),
    };
    let device = match plays {
        true => run.device_in_words(),
        false => training.device_in_words(),
    };
    Ok(Start {
        version: run.program.version.clone(),
        command: run.program.command.clone(),
        network: training.network().name(),
        device,
        trained_in: training.precision().to_string(),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u64),
        workers,
        games_at_once,
        compared_with: from,
        differences: settings,
    })
}

/// The start of a run and where to watch it, in one line that fits 80 columns if the processor has a short name.
pub(crate) fn in_words(start: &Start, report: &Path) -> String {
    let trained = match start.device.contains(&format!(" · {}", start.trained_in)) {
        true => String::new(),
        false => format!(", trained in {}", start.trained_in),
    };
    format!(
        "{} on {}{trained}; {} of {} games; {}",
        start.network,
        start.device,
        counted(start.workers, "worker"),
        start.games_at_once,
        from_here(report).display()
    )
}

/// A path inside the current folder relative to it, which is shorter; any other path as it is.
pub(crate) fn from_here(path: &Path) -> &Path {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_fits_a_line_and_tells_formats_that_differ() {
        let mut start = Start {
            network: "b4c32".into(),
            device: "cpu AMD EPYC · bf16".into(),
            trained_in: "bf16".into(),
            workers: 2,
            games_at_once: 64,
            ..Start::default()
        };
        let line = in_words(&start, Path::new("data/runs/9x9/report.html"));
        let expected = "b4c32 on cpu AMD EPYC · bf16; 2 workers of 64 games; data/runs/9x9/report.html";
        assert_eq!(line, expected);
        assert!(line.chars().count() <= 80);
        start.trained_in = "fp32".into();
        let line = in_words(&start, Path::new("report.html"));
        assert!(line.contains(" · bf16, trained in fp32; "), "{line}");
        start.device = "cuda:0 H100 · fp32 (TF32 convolutions)".into();
        let line = in_words(&start, Path::new("report.html"));
        assert!(line.contains(" · fp32 (TF32 convolutions); "), "{line}");
    }
}
