//! `tengen sweep`: compares settings by how strong runs become with them.

use std::path::{Path, PathBuf};

use anyhow::Context;

use tengen_matches::Standing;
use tengen_store::{Create, Store};
use tengen_sweep::{Field, Outcome, Plan, PlannedRun, Runs, meetings};

use crate::commands::tournament::{Matches, TableArgs};
use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::output::{self, say, usage};

/// Compare settings: which learns faster, and is that more than chance?
///
/// A sweep of arms trains every arm with every seed, and compares each arm with the first one. A sweep of factors tests
/// many settings at once: every run has its own half of them, so all runs tell about each setting, and testing eight
/// takes no more runs than testing one. Choose arms for settings that exclude each other, and factors for those that
/// can be combined.
///
/// Matches between the models of all runs put them on one scale, and the sweep compares them at the end of their
/// budget: means over runs with 95% intervals, because even runs that differ only in their seed have different results.
/// Prints a table, and writes a page with plots and sweep.json into the sweep's folder.
///
/// Run the same command again to go on where it stopped, even after kill -9, or after adding arms, seeds, or runs to
/// the file.
#[derive(clap::Args)]
#[command(after_help = r#"Examples:
  tengen sweep configs/sweeps/visits-5x5.toml
  tengen sweep visits.toml --jobs 2 --out /data/sweeps/visits

A sweep is a TOML file. Keys under `set` are those of configs/all-keys.toml; the value "unset"
takes out what the base says about a key:

  name = "visits"
  base = "../5x5.toml"                 # relative to this file
  seeds = [1, 2, 3, 4]
  set.budget.cpu_seconds = 120         # for all arms; a budget is required
  set.loop.candidate_every_steps = 500 # models on the way to the last one

  [[arms]]                             # the others are compared with the first
  name = "8 visits"

  [[arms]]
  name = "4 visits"
  set.selfplay.search.visits = 4

Instead of arms and seeds, a sweep can have factors, and a number of runs, each with a seed of its
own: twice the number of factors, rounded up to a power of two, or a multiple of that. More runs
make all intervals narrower. configs/sweeps/factors-7x7.toml is an example:

  runs = 8

  [[factors]]
  name = "tree reuse"
  set.selfplay.tree_reuse = true

  [[factors]]
  name = "half of the noise"
  set.selfplay.full_noise = 0.5

Both kinds of sweep may say how models are rated:

  [rating]                             # all optional
  games = 40                           # of each match
  visits = 32
  models = 4                           # of each run, spread over its length
  komi = 24.5                          # otherwise fair komi
  openings = "random:4"
"#)]
pub(crate) struct Args {
    /// The sweep's TOML file
    file: PathBuf,
    /// Folder for the runs, the matches and the results [default: data/sweeps/NAME, NAME from the file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Runs to train side by side; more than one changes what a CPU second is worth
    #[arg(long, default_value_t = 1, value_parser = crate::arguments::count, value_name = "N")]
    jobs: u32,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// Trains the runs, rates their models, and compares the arms.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    args.device.check()?;
    let plan = Plan::load(&args.file)?;
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new("data/sweeps").join(&plan.name));
    let interrupt = Interrupt::listen("Stopping the sweep; what it has is kept…")?;
    reject_other_folders(&folder)?;
    let store = Store::open(&folder.to_string_lossy(), Create::Always)?;
    let _lock = store.lock_run()?;
    if !train(&args, &plan, &folder, &interrupt)? {
        say("stopped; run the same command again to go on");
        return interrupt.outcome();
    }
    let stores: Vec<Store> = plan
        .runs
        .iter()
        .map(|run| open(&folder, run))
        .collect::<anyhow::Result<_>>()?;
    let field = Field::of(&plan, &stores)?;
    let config = plan.match_config(&stores[0])?;
    config.validate().map_err(usage)?;
    let matches = Matches {
        config: &config,
        entrants: &field.entrants,
        store: Some(&store),
        device: args.device,
        interrupt: &interrupt,
    };
    let schedule = meetings(&field.places, &plan.design);
    let pairings = matches.with_progress(schedule.len(), |meet| {
        let played = schedule.iter().map_while(|&players| meet(players).transpose());
        played.collect::<anyhow::Result<Vec<_>>>()
    })?;
    if interrupt.requested() {
        say("stopped; run the same command again to go on");
        return interrupt.outcome();
    }
    let standing = Standing::of(&config, &field.entrants, pairings, false)?;
    let outcome = Outcome::of(&plan, &field.places, standing)?;
    let text = serde_json::to_string_pretty(&outcome)?;
    tengen_report::replace(&folder.join("sweep.json"), text.as_bytes()).context("cannot write sweep.json")?;
    outcome.page().write(&folder.join("index.html"))?;
    match args.table.json {
        true => output::json(&outcome),
        false => {
            output::result(format!("{}\n", outcome.in_words()));
            output::result(outcome.table().text(args.table.markdown));
            output::result(format!("\nCurves: {}", folder.join("index.html").display()));
            Ok(())
        }
    }
}

/// Rejects a folder that is neither empty nor a sweep's.
fn reject_other_folders(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    if shown.to_string().contains("://") {
        return Err(usage(format!("{shown} is an address; a sweep needs a local folder")));
    }
    let is_sweep = folder.join("runs").is_dir() || folder.join("run.lock").exists();
    match std::fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
        Ok(true) if !is_sweep || folder.join("run.json").exists() => Err(usage(format!(
            "{shown} already exists and is not a sweep; choose a new folder"
        ))),
        _ => Ok(()),
    }
}

/// Trains all runs. Returns false if the user stopped them.
fn train(args: &Args, plan: &Plan, folder: &Path, interrupt: &Interrupt) -> anyhow::Result<bool> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let device = args
        .device
        .device
        .map(|device| ["--device".to_owned(), device.to_string()]);
    let dtype = args.device.dtype.map(|dtype| ["--dtype".to_owned(), dtype.to_string()]);
    let arguments: Vec<String> = device.into_iter().chain(dtype).flatten().collect();
    let bar = output::bar(
        plan.runs.len() as u64,
        "[{bar:16}] {human_pos}/{human_len} runs, {elapsed}, {wide_msg}",
    );
    bar.enable_steady_tick(std::time::Duration::from_millis(500));
    let logs = format!("logs in {}", folder.join("runs").display());
    if !output::interactive() {
        say(format!(
            "training {}; {logs}",
            output::counted(plan.runs.len() as u64, "run")
        ));
    }
    bar.set_message(logs);
    let runs = Runs {
        program: &program,
        folder,
        arguments: &arguments,
        jobs: args.jobs as usize,
        stop: &|| interrupt.requested(),
        finished: &|run| {
            bar.inc(1);
            if !output::interactive() {
                say(format!(
                    "{} of {} runs: {} has spent its budget",
                    bar.position(),
                    plan.runs.len(),
                    run.name
                ));
            }
        },
        say: &|sentence| say(sentence),
    };
    runs.prepare(plan)?;
    let done = runs.run(plan);
    bar.finish_and_clear();
    done
}

fn open(folder: &Path, run: &PlannedRun) -> anyhow::Result<Store> {
    Ok(Store::open(
        &folder.join("runs").join(&run.name).to_string_lossy(),
        Create::Never,
    )?)
}
