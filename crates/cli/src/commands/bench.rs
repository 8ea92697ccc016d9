//! `tengen bench`: measures Tengen's workloads, each in a loop of a few seconds.

mod data;
#[cfg(feature = "torch")]
mod network;
mod rules;
mod search;
#[cfg(feature = "torch")]
mod selfplay;
#[cfg(feature = "torch")]
mod train;

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{arguments, output};

/// Measure a workload: rules, search, self-play, network, training or data
#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    Rules(rules::Args),
    Search(search::Args),
    #[cfg(feature = "torch")]
    Selfplay(selfplay::Args),
    #[cfg(feature = "torch")]
    Network(network::Args),
    #[cfg(feature = "torch")]
    Train(train::Args),
    Data(data::Args),
}

pub(crate) fn run(bench: Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Rules(args) => rules::run(args),
        Bench::Search(args) => search::run(args),
        #[cfg(feature = "torch")]
        Bench::Selfplay(args) => selfplay::run(args),
        #[cfg(feature = "torch")]
        Bench::Network(args) => network::run(args),
        #[cfg(feature = "torch")]
        Bench::Train(args) => train::run(args),
        Bench::Data(args) => data::run(args),
    }
}

/// Visits per move in games without a network; enough for realistic policy targets.
const GAME_VISITS: u32 = 8;

/// Arguments of every benchmark.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// How long to measure, in seconds
    #[arg(long, default_value = "10", value_parser = arguments::seconds)]
    seconds: f64,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Common {
    /// Starts the clock for the measured part.
    fn start(&self) -> Watch {
        Watch {
            start: Instant::now(),
            length: Duration::from_secs_f64(self.seconds),
        }
    }
}

/// Measures the time since the start and says when the measuring time is over.
#[derive(Clone, Copy)]
struct Watch {
    start: Instant,
    length: Duration,
}

impl Watch {
    /// Whether the measuring time is over.
    fn over(&self) -> bool {
        self.start.elapsed() >= self.length
    }

    /// Seconds since the start.
    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// The figures of a benchmark, without those that do not apply to it.
struct Figures {
    /// The workload, such as `search 9x9, 64 visits, 2 threads`.
    workload: String,
    /// Duration of the measured part, in seconds.
    seconds: f64,
    /// All figures by name, in display order.
    values: Vec<(String, Value, Audience)>,
}

/// Which output shows a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    All,
    People,
    Scripts,
}

impl Figures {
    fn new(workload: impl Into<String>, seconds: f64) -> Figures {
        Figures {
            workload: workload.into(),
            seconds,
            values: Vec::new(),
        }
    }

    /// Adds `count` per second as `name`.
    fn rate(&mut self, name: &str, count: f64) -> &mut Figures {
        let rate = count / self.seconds;
        self.value(name, rate)
    }

    /// Adds a figure unchanged.
    fn value(&mut self, name: &str, value: impl Into<Value>) -> &mut Figures {
        self.add(name, value.into(), Audience::All)
    }

    /// Adds a figure that only appears in the text output.
    fn shown(&mut self, name: &str, value: impl Into<Value>) -> &mut Figures {
        self.add(name, value.into(), Audience::People)
    }

    /// Adds a figure that only appears in the JSON output.
    fn hidden(&mut self, name: &str, value: impl Into<Value>) -> &mut Figures {
        self.add(name, value.into(), Audience::Scripts)
    }

    fn add(&mut self, name: &str, value: Value, audience: Audience) -> &mut Figures {
        self.values.push((name.to_owned(), value, audience));
        self
    }

    /// Prints the figures and the peak memory of the process.
    fn print(&mut self, json: bool) -> anyhow::Result<()> {
        self.value("peak_memory_bytes", peak_memory_bytes());
        if json {
            return output::json(&self.to_json());
        }
        output::result(format!("{} ({})", self.workload, output::duration(self.seconds)));
        for (name, value, _) in self
            .values
            .iter()
            .filter(|(_, _, audience)| *audience != Audience::Scripts)
        {
            output::result(format!("  {:<34} {:>16}", name.replace('_', " "), for_people(value)));
        }
        Ok(())
    }

    /// All figures as one JSON object.
    fn to_json(&self) -> Value {
        let mut object = serde_json::json!({ "workload": self.workload, "seconds": self.seconds });
        for (name, value, _) in self
            .values
            .iter()
            .filter(|(_, _, audience)| *audience != Audience::People)
        {
            object[name] = value.clone();
        }
        object
    }
}

/// Formats a figure for the text output; large ones become whole numbers with thousands separators.
fn for_people(value: &Value) -> String {
    match value {
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => output::thousands(whole),
            (None, Some(figure)) if figure >= 1000.0 => output::thousands(figure.round() as u64),
            (None, Some(figure)) => format!("{figure:.2}"),
            (None, None) => number.to_string(),
        },
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The process's peak memory in bytes; 0 if the system does not report it.
pub(crate) fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB"));
    kibibytes
        .and_then(|number| number.trim().parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_figures_as_text_and_json() {
        for (value, text) in [
            (serde_json::json!(1234.6), "1,235"),
            (serde_json::json!(12.345), "12.35"),
            (serde_json::json!(7), "7"),
        ] {
            assert_eq!(for_people(&value), text);
        }
        let mut figures = Figures::new("test", 2.0);
        figures.rate("moves_per_second", 10.0);
        let json = figures.to_json();
        assert_eq!(json["moves_per_second"], 5.0);
        assert_eq!(json["workload"], "test");
    }

    #[test]
    fn peak_memory_is_known() {
        assert!(peak_memory_bytes() > 1 << 20);
    }
}
