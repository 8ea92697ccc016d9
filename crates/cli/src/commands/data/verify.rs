//! `tengen data verify`: checks the integrity of everything in a store.

use anyhow::bail;

use tengen_reanalysis::FOLDER;
use tengen_selfplay::Snapshot;
use tengen_store::{Create, Damage, Store, VerifyReport, unseal};

use crate::output;

/// Check every file of a store: hashes, schema, and every game replayed under its rules
///
/// Reads everything and changes nothing: games, change notes, models with their weights, promotions, matches,
/// checkpoints, datasets, configurations, summaries, unfinished games, and the games that a run has searched again.
/// Metrics, the report and locks hold nothing that a run depends on and are not checked. Prints what was checked, every
/// bad file with the reason, and files that do not count. Exits with 1 if anything is wrong that is not already in
/// quarantine, including games that two shards hold.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data verify data/runs/demo
  tengen data verify data/runs/demo --json")]
pub(crate) struct Args {
    /// The store: a folder
    store: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let store = Store::open(&args.store, Create::Never)?;
    let report = checked(&store)?;
    let has_inner = !store.files().list(FOLDER)?.is_empty();
    let inner = has_inner.then(|| checked_inner(&store)).transpose()?;
    let all = || std::iter::once(&report).chain(&inner);
    let is_sound = all().all(VerifyReport::is_sound);
    if args.json {
        let mut object = serde_json::to_value(&report)?;
        object["sound"] = is_sound.into();
        if let Some(inner) = &inner {
            object[FOLDER] = serde_json::to_value(inner)?;
        }
        output::json(&object)?;
    } else {
        print("", &report);
        if let Some(inner) = &inner {
            print("the games that were searched again: ", inner);
        }
        if is_sound {
            output::result(
                match all().all(|report| report.damaged.is_empty() && report.strangers.is_empty()) {
                    true => "everything is intact",
                    false => "everything else is intact",
                },
            );
        }
    }
    if is_sound {
        return Ok(());
    }
    let damaged = all().flat_map(|report| &report.damaged);
    let wrong = damaged.filter(|damage| !damage.quarantined).count();
    bail!("the store at {} is damaged; bad files: {wrong}", args.store)
}

/// Checks one store.
fn checked(store: &Store) -> anyhow::Result<VerifyReport> {
    let bar = output::bar(0, "[{bar:24}] {human_pos}/{human_len} shards, {eta} left");
    let mut report = store.verify(|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    for (path, reason) in wrong_contents(store)? {
        if report.damaged.iter().all(|damage| damage.path != path) {
            report.damaged.push(Damage {
                path,
                reason,
                quarantined: false,
            });
        }
    }
    Ok(report)
}

/// Checks the store in the folder [`FOLDER`] of this one. The report's paths are those in this store.
fn checked_inner(store: &Store) -> anyhow::Result<VerifyReport> {
    let location = store.location().trim_end_matches('/');
    let mut report = checked(&Store::open(&format!("{location}/{FOLDER}"), Create::Never)?)?;
    let damaged = report.damaged.iter_mut().map(|damage| &mut damage.path);
    let uncounted = report.uncounted.iter_mut().map(|shard| &mut shard.path);
    for path in damaged.chain(uncounted).chain(&mut report.strangers) {
        *path = format!("{FOLDER}/{path}");
    }
    Ok(report)
}

/// Checks files whose contents the store itself does not understand, and says what is wrong with them.
fn wrong_contents(store: &Store) -> anyhow::Result<Vec<(String, String)>> {
    let mut wrong = tengen_matches::wrong_results(store)?;
    let of_workers = store.files().list("in_flight")?.into_iter().map(|(path, _)| path);
    for path in of_workers.chain(["in_flight.json".to_owned()]) {
        // The store has already reported a hash that does not match. A claim of a worker is not JSON.
        if let (true, Some(bytes)) = (path.ends_with(".json"), store.files().get(&path)?)
            && let Ok(games) = unseal(&path, &bytes)
            && let Err(error) = Snapshot::from_bytes(&games)
        {
            wrong.push((path, error.to_string()));
        }
    }
    Ok(wrong)
}

/// Prints what was checked, after the name of the part of the store, if any, and what is wrong.
fn print(part: &str, report: &VerifyReport) {
    output::result(format!(
        "{part}checked {} with {} and {} ({} bytes), {}, {}, {}, {}, {}",
        output::counted(report.shards, "shard"),
        output::counted(report.games, "game"),
        output::counted(report.positions, "position"),
        output::thousands(report.bytes),
        output::counted(report.models, "model"),
        output::counted(report.promotions, "promotion"),
        output::counted(report.matches, "match"),
        output::counted(report.checkpoints, "checkpoint"),
        output::counted(report.datasets, "dataset")
    ));
    for damage in &report.damaged {
        let kind = if damage.quarantined { "in quarantine" } else { "WRONG" };
        output::result(format!("{kind}: {}: {}", damage.path, damage.reason));
    }
    let is_wrong = |path: &&String| report.damaged.iter().any(|damage| damage.path == **path);
    for path in report.strangers.iter().filter(|path| !is_wrong(path)) {
        let uncounted = report.uncounted.iter().find(|shard| shard.path == *path);
        output::result(match uncounted {
            Some(shard) if shard.unique_games > 0 => format!(
                "not counted: {path}: no note in changes/ names it, and {} of its games are in no other shard; the \
                 next `tengen data import` into this store counts them",
                output::thousands(shard.unique_games)
            ),
            Some(_) => format!("not counted: {path} is left over from a merge or an import"),
            None => format!("not counted: {path} is unfinished or not part of a store"),
        });
    }
}
