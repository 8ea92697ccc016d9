//! `tengen data import`: other people's games, replayed under strict rules and relabelled.

use crate::interrupt::Interrupt;
use crate::output::{self, result, say, thousands};
use anyhow::{Context, bail};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tengen_records::{
    Create, ImportReport, ImportRules, Importer, MissingTurns, Rejection, Store, StoreError, find_sources, read_source,
    sha256_hex,
};
use tengen_rules::{Komi, Rules};

/// Games left out that are shown; the report has all.
const SHOWN: usize = 10;

/// Replay other people's SGF games under exact rules and keep those that are legal, labelled anew
///
/// FILES are SGF files with one or many games, archives of them (.zip, .tar, .tar.gz, .gz), and folders with all such
/// files below. Any encoding is read; of variations the main line. Every game is replayed under --rules: legality of
/// each move, and when two passes end it, the score and owner of every point by count, beside the result that the
/// file claims. The file's own words (result, komi, rules, ranks, date, event) are kept in columns of their own.
///
/// What is never invented: a result. Without two passes the board is not counted, whatever the file claims: the
/// players agreed on dead stones, and strict rules know none. A resignation, a loss on time and a forfeit are kept as
/// such; any other game without two passes is kept as unfinished.
///
/// Left out, with the reason, is a game that breaks a rule (a move on a stone, forbidden suicide or ko, a play after
/// two passes, stones set up without liberty, a turn left out, a komi that is not in half points) or cannot be read.
/// Passes after the end are dropped. Handicap stones may be set up, played, or given by passes.
///
/// Games are named by their content: importing a file again adds nothing, and a run that was stopped or killed goes on
/// with the same command. Any number of imports may work on one store at the same moment, on the same files or others:
/// each game is stored once, and the import that came second counts it as there already. The exit code is 1 when no game was kept or found in the store already, or a file could not be read.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data import games.sgf --store data/imported
  tengen data import ~/sgf archive.zip --store data/imported --rules tromp_taylor --report left-out.jsonl
  tengen data import old.sgf --dry-run --komi 7.5 --missing-turns pass --json")]
pub(crate) struct Args {
    /// SGF files, archives of them, and folders
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
    /// The store to import into: its folder, made if there is none, or address
    #[arg(long, required_unless_present = "dry_run", value_name = "STORE")]
    store: Option<String>,
    /// The rule set to replay under
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Points for White in halves, instead of what the files say [default: the file's, or 0 where it says nothing]
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    /// What to do with a game in which one side plays twice in a row outside a handicap
    #[arg(long, value_enum, default_value_t = Missing::Refuse, value_name = "HOW")]
    missing_turns: Missing,
    /// Name of the collection inside the store: letters, digits, '.', '_', '-'
    #[arg(long, default_value = "sgf")]
    name: String,
    /// Replay and report, but write no games
    #[arg(long)]
    dry_run: bool,
    /// Write every game left out into this file, one JSON object a line [default: imports/ inside the store]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What a turn becomes that a file leaves out.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Missing {
    /// Leave the game out
    Refuse,
    /// Put a pass in, marked as a turn nobody chose
    Pass,
}

/// What was done, as JSON.
#[derive(Serialize)]
struct Done<'a> {
    store: Option<&'a str>,
    rules: String,
    dry_run: bool,
    /// Whether every file was read to its end.
    complete: bool,
    #[serde(flatten)]
    report: &'a ImportReport,
    /// Files that could not be read or unpacked.
    unreadable: &'a [String],
    /// Games left out, all of them.
    left_out: &'a [Rejection],
    /// Where the games left out are listed.
    report_file: Option<String>,
}

/// Imports.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let files = find_sources(&args.files)?;
    let interrupt = Interrupt::listen("Stopping after this game; the same command goes on later…")?;
    let (store, is_new) = open_store(&args)?;
    let mut unreadable = Vec::new();
    let report = take_files(&args, &files, store.as_ref(), &interrupt, &mut unreadable)?;
    let report_file = match report.kept + report.duplicates {
        0 => write_report(args.report.as_deref(), None, &report)?,
        _ => write_report(args.report.as_deref(), store.as_ref(), &report)?,
    };
    let folder = store.as_ref().and_then(Store::local_path);
    if let (true, true, Some(folder)) = (is_new, report.kept == 0, folder) {
        // Made for nothing; a folder that holds something stays.
        let _ = std::fs::remove_dir(folder);
    }
    let done = Done {
        store: store.as_ref().map(Store::location),
        rules: args.rules.to_string(),
        dry_run: args.dry_run,
        complete: !interrupt.requested(),
        report: &report,
        unreadable: &unreadable,
        left_out: &report.rejections,
        report_file,
    };
    match args.json {
        true => output::json(&done)?,
        false => print(&done),
    }
    verdict(&done)?;
    interrupt.outcome()
}

/// The store, if there is one or is to be one, and whether its folder was made now. A dry run makes none and compares with
/// the games that are there, if there are any.
fn open_store(args: &Args) -> anyhow::Result<(Option<Store>, bool)> {
    let Some(location) = &args.store else {
        return Ok((None, false));
    };
    match Store::open(location, Create::Never) {
        Ok(store) => Ok((Some(store), false)),
        Err(StoreError::Missing { .. }) if args.dry_run => Ok((None, false)),
        Err(StoreError::Missing { .. }) => Ok((Some(Store::open(location, Create::Always)?), true)),
        // A place that holds nothing yet.
        Err(StoreError::NotAStore { .. }) => Ok((Some(Store::open(location, Create::Always)?), false)),
        Err(error) => Err(error.into()),
    }
}

/// Reads all files one after another.
fn take_files(
    args: &Args,
    files: &[PathBuf],
    store: Option<&Store>,
    interrupt: &Interrupt,
    unreadable: &mut Vec<String>,
) -> anyhow::Result<ImportReport> {
    let how = ImportRules {
        rules: args.rules,
        komi: args.komi,
        missing_turns: match args.missing_turns {
            Missing::Refuse => MissingTurns::Refuse,
            Missing::Pass => MissingTurns::Pass,
        },
    };
    let mut importer = Importer::new(store, &args.name, how)?;
    if args.dry_run {
        importer = importer.without_writing();
    }
    let sizes: Vec<u64> = files
        .iter()
        .map(|file| std::fs::metadata(file).map_or(0, |found| found.len()))
        .collect();
    let bar = output::bars().add(indicatif::ProgressBar::new(sizes.iter().sum()).with_style(style()));
    let mut done = 0;
    for (file, size) in files.iter().zip(&sizes) {
        match read_source(file) {
            Ok(sources) => {
                for source in &sources {
                    importer.take(source, |read| {
                        bar.set_position(done + size.min(&(read as u64)));
                        !interrupt.requested()
                    })?;
                    bar.set_message(thousands(importer.report().games));
                }
            }
            Err(error) => unreadable.push(error.to_string()),
        }
        if interrupt.requested() {
            break;
        }
        done += size;
    }
    bar.finish_and_clear();
    Ok(importer.finish()?)
}

fn style() -> indicatif::ProgressStyle {
    indicatif::ProgressStyle::with_template("{bar:30} {bytes} of {total_bytes} · {msg} games · {eta} left")
        .expect("the template is fixed and valid")
}

/// Writes the games left out into a file, or into the store; where they stand, if there are any.
fn write_report(file: Option<&Path>, store: Option<&Store>, report: &ImportReport) -> anyhow::Result<Option<String>> {
    let mut lines = Vec::new();
    for rejection in &report.rejections {
        serde_json::to_writer(&mut lines, rejection)?;
        lines.push(b'\n');
    }
    if let Some(path) = file {
        crate::report::replace(path, &lines).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(Some(path.display().to_string()));
    }
    let Some(store) = store.filter(|_| !lines.is_empty()) else {
        return Ok(None);
    };
    // Named by its content: the same import again adds nothing.
    let path = format!("imports/{}.jsonl", &sha256_hex(&lines)[..16]);
    if store.size_of(&path)?.is_none() {
        store.put_new(&path, lines)?;
    }
    Ok(Some(format!("{}/{path}", store.location())))
}

/// Whether the command did what it was for.
fn verdict(done: &Done<'_>) -> anyhow::Result<()> {
    let report = done.report;
    if !done.complete {
        say("stopped before the end: the same command goes on where it was");
    }
    if let Some(first) = done.unreadable.first() {
        let used = match report.games {
            0 => "nothing was imported",
            _ => "the others were imported",
        };
        bail!(
            "{} of the files cannot be read, {used}; the first: {first}",
            done.unreadable.len()
        );
    }
    if report.kept + report.duplicates > 0 || !done.complete {
        return Ok(());
    }
    match report.rejections.first() {
        Some(first) => bail!("no game can be kept; the first reason: {}", place(first)),
        None => bail!("no game was found"),
    }
}

/// A game left out, its place and the reason, in one line.
fn place(rejection: &Rejection) -> String {
    let Rejection {
        file,
        game,
        turn,
        line,
        column,
        reason,
        ..
    } = rejection;
    let turn = turn.map_or(String::new(), |turn| format!(", move {turn}"));
    match game {
        0 => format!("{file}: {reason}"),
        _ => format!("{file}, game {game}{turn} (line {line}, column {column}): {reason}"),
    }
}

fn print(done: &Done<'_>) {
    let report = done.report;
    let row = |name: &str, count: u64, more: &str| {
        if count > 0 {
            result(format!("  {name:<44} {:>9}{more}", thousands(count)));
        }
    };
    let target = match (done.dry_run, done.store) {
        (false, _) if report.kept == 0 => "nothing new is imported".to_owned(),
        (false, Some(store)) => format!("imported into {store}"),
        _ => "a dry run, nothing is written".to_owned(),
    };
    result(format!("{target}, under {}", done.rules));
    row("files read", report.files, "");
    row("files that cannot be read", done.unreadable.len() as u64, "");
    row("files with characters in no encoding", report.damaged_texts, "");
    row("games read", report.games, "");
    let positions = format!("  ({} positions)", thousands(report.positions));
    row("kept", report.kept, &positions);
    row("there already", report.duplicates, "");
    let rules: Vec<String> = report
        .illegal_by_rule
        .iter()
        .map(|(rule, games)| format!("{rule} {games}"))
        .collect();
    row(
        "illegal, left out",
        report.illegal,
        &format!("  ({})", rules.join(", ")),
    );
    row("broken, left out", report.broken, "");
    for (name, words) in RESULTS {
        row(words, report.results.get(name).copied().unwrap_or(0), "");
    }
    row("passes put in for turns left out", report.added_passes, "");
    row("passes after the end left out", report.dropped_passes, "");
    for file in done.unreadable.iter().take(SHOWN) {
        result(format!("cannot be read: {file}"));
    }
    for rejection in report.rejections.iter().take(SHOWN) {
        result(format!("left out: {}", place(rejection)));
    }
    if let (Some(file), false) = (&done.report_file, report.rejections.is_empty()) {
        result(format!(
            "all {} left out are in {file}",
            thousands(report.rejections.len() as u64)
        ));
    } else if report.rejections.len() > SHOWN {
        result(format!(
            "and {} more: --report FILE lists them",
            report.rejections.len() - SHOWN
        ));
    }
}

/// Names of comparisons and what they mean, in the order of the table.
const RESULTS: [(&str, &str); 8] = [
    ("agrees", "  counted: the file's claim agrees"),
    ("other_margin", "  counted: same winner, other margin"),
    ("other_winner", "  counted: other winner"),
    ("no_claim", "  counted: the file claims no count"),
    ("resignation", "  not counted: resignation"),
    ("forfeit", "  not counted: time or forfeit"),
    ("unfinished", "  not counted: unfinished, no two passes"),
    ("no_count", "  over, but not countable under these rules"),
];
