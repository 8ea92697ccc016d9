//! `tengen config diff`: prints the keys in which two configurations differ.

use serde::Serialize;
use toml::Value;

use tengen_run::keys;

use crate::output;

/// Shown for a key that is not set.
const ABSENT: &str = "-";

/// Compare two effective configurations: one line for every key that differs
///
/// A line shows the key and both values, with `-` for a key that is not set. Exits with 0 whether or not they differ.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen config diff configs/5x5.toml configs/9x9.toml
  tengen config diff data/runs/demo configs/5x5.toml
  tengen config diff configs/all-keys.toml configs/5x5.toml  # what it changes")]
pub(crate) struct Args {
    /// A config file, or a store for the configuration that its run started with
    a: String,
    /// The config file or store to compare it with
    b: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A key with its two values; `None` if it is not set.
#[derive(Serialize)]
struct Difference {
    key: &'static str,
    a: Option<Value>,
    b: Option<Value>,
}

#[derive(Serialize)]
struct Answer {
    differences: Vec<Difference>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let a = super::load(&args.a, &[])?.table()?;
    let b = super::load(&args.b, &[])?.table()?;
    let differences: Vec<Difference> = keys::differences(&a, &b)
        .map(|(key, a, b)| Difference {
            key,
            a: a.cloned(),
            b: b.cloned(),
        })
        .collect();
    if args.json {
        return output::json(&Answer { differences });
    }
    print(&differences);
    Ok(())
}

fn print(differences: &[Difference]) {
    let words = |value: &Option<Value>| value.as_ref().map_or_else(|| ABSENT.to_owned(), Value::to_string);
    let cells = differences
        .iter()
        .map(|both| [both.key.to_owned(), words(&both.a), words(&both.b)]);
    let cells: Vec<[String; 3]> = cells.collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let (keys, values) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
    for [key, a, b] in &cells {
        output::result(format!("{key:<keys$}  {a:<values$}  {b}"));
    }
}
