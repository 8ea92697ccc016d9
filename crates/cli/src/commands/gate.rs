//! `tengen gate`: the newest model meets the champion.

use crate::commands::stage::StageArgs;
use crate::interrupt::Interrupt;
use crate::output::{bars, say};
use crate::run::{Gating, left_over};
use indicatif::ProgressBar;
use serde::Serialize;
use std::time::Duration;

/// How often the store is looked at for new models.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Let the store's newest model play the champion and replace it if it is stronger
///
/// The match, its games and the verdict go into the store, the games as they finish. Interrupted in any way, the same
/// command goes on with the games that are missing. A verdict that stands already is carried out, never played again.
/// With --follow it waits for more models.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen gate --store data/runs/five
  tengen gate --store data/runs/five --follow        beside `tengen selfplay` and `tengen train --follow`")]
pub(crate) struct Args {
    #[command(flatten)]
    stage: StageArgs,
    /// Wait for more models
    #[arg(long)]
    follow: bool,
    /// Print the verdicts as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// What was done.
#[derive(Serialize)]
struct Done {
    champion: Option<String>,
    verdicts: Vec<tengen_report::metrics::Gate>,
}

/// Judges candidates.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let mut run = args.stage.open()?;
    let interrupt = Interrupt::listen("Stopping; the same command goes on with the gate in progress…")?;
    run.be_patient(&interrupt);
    run.say_when_away();
    let mut gating = Gating::new(&run);
    let mut verdicts = Vec::new();
    while !interrupt.requested() {
        match left_over(&run)? {
            Some(candidate) => {
                let line = bars().add(ProgressBar::new_spinner());
                let tell = |words| {
                    line.set_message(words);
                    line.tick();
                };
                let settled = gating.settle(&candidate, &tell, &|| interrupt.requested())?;
                line.finish_and_clear();
                if let Some(settled) = settled {
                    say(settled.in_words());
                    verdicts.push(settled.event());
                }
            }
            None if args.follow => std::thread::sleep(LOOK_EVERY),
            None => break,
        }
    }
    let champion = run.store.champion()?.map(|(_, promotion)| promotion.model_id);
    if args.json {
        return crate::output::json(&Done { champion, verdicts });
    }
    if interrupt.requested() {
        say("stopped; the same command goes on where this one was");
    } else if verdicts.is_empty() {
        say("no model waits for the gate");
    }
    crate::output::result(format!("champion: {}", champion.as_deref().unwrap_or("none")));
    Ok(())
}
