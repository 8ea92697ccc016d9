//! `tengen gate`: matches new models against the champion and promotes those that are stronger.

use serde::Serialize;

use tengen_fleet::{decide, decide_once};
use tengen_run::Opened;

use crate::commands::stage::StageArgs;
use crate::interrupt::Interrupt;
use crate::output::{say, spinner};

/// Match the store's newest model against the champion and promote it if it is stronger
///
/// The match, its games and the verdict go into the store, the games as they finish. After any interruption, the same
/// command plays only the missing games. A verdict that is already recorded takes effect without another match.
///
/// With --follow, the command decides on one model after another until the run's trainer says that the budget is spent
/// and no model is left. A second gate stands by and takes over when the first is gone. When a signal stops the gate,
/// it exits with 0.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen gate --store data/runs/five
  tengen gate --store data/runs/five --follow

Run it with --follow alongside `tengen selfplay --follow` and `tengen train
--follow` in other processes or on other machines with the same store.")]
pub(crate) struct Args {
    #[command(flatten)]
    stage: StageArgs,
    /// Decide on one model after another until the run is finished
    #[arg(long)]
    follow: bool,
    /// Print the verdicts as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// The command's JSON result.
#[derive(Serialize)]
struct Done {
    champion: Option<String>,
    verdicts: Vec<tengen_metrics::Gate>,
}

/// Decides on the newest candidate or, with `--follow`, on one after another.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen("Stopping; the same command resumes the match in progress…")?;
    args.stage.on_one_device()?;
    let mut run = match args.follow {
        true => args.stage.open_patiently(&interrupt)?,
        false => args.stage.open(&interrupt)?,
    };
    say(format!("device {}", run.device_in_words()));
    let line = spinner("{spinner} {wide_msg}");
    let progress = |text| {
        line.set_message(text);
        line.tick();
    };
    let decide = if args.follow { decide } else { decide_once };
    let decided = decide(&mut run, &progress, &|settled| say(settled.in_words()))?;
    line.finish_and_clear();
    if !args.follow && interrupt.requested() {
        say("stopped; the same command resumes where this one left off");
    } else if !args.follow && decided.verdicts.is_empty() && !args.json {
        say("no model is waiting for the gate");
    }
    print(&run, decided.verdicts, &args)?;
    match args.follow {
        true => Ok(()),
        false => interrupt.outcome(),
    }
}

/// Prints what the gate has decided.
fn print(run: &Opened, verdicts: Vec<tengen_metrics::Gate>, args: &Args) -> anyhow::Result<()> {
    let champion = run
        .store
        .models()
        .champion()?
        .map(|(_, promotion)| promotion.model_id.to_string());
    if args.json {
        return crate::output::json(&Done { champion, verdicts });
    }
    crate::output::result(format!("champion: {}", champion.as_deref().unwrap_or("none")));
    Ok(())
}
