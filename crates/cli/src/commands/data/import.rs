//! `tengen data import`: replays SGF games under strict rules and labels them by count.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use tengen_import::{ImportReport, ImportRules, Importer, MissingTurns, Rejection, find_sources, read_source};
use tengen_rules::{Komi, Rules};
use tengen_store::{Create, Store, StoreError, sha256_hex};

use crate::interrupt::Interrupt;
use crate::output::{self, counted, result, say, thousands};

/// The most rejected games and files with problems to print; the report lists all rejected games.
const SHOWN: usize = 10;

/// Replay SGF games under exact rules and keep the legal ones, scored by count
///
/// FILES are SGF files with one or more games, archives of them (.zip, .tar, .tar.gz, .gz), and folders, which are
/// searched recursively. Any encoding is accepted; of variations, only the main line is read. Every game is replayed
/// under --rules: legality of each move and, if two passes end the game, the score and owner of every point by count,
/// next to the result that the file claims. The file's own data (result, komi, rules, ranks, date, event) is kept in
/// separate columns.
///
/// Results are never invented. Without two passes the board is not counted, regardless of the file's claim, because the
/// players agreed on dead stones and strict rules have no such agreement. Resignations, losses on time and forfeits
/// keep their result; other games without two passes are kept as unfinished.
///
/// A game is rejected, with the reason, if it breaks a rule (a move onto a stone, forbidden suicide or ko, a play after
/// two passes, setup stones without liberties, a missing turn, a komi that is not in half points) or cannot be read.
/// Passes after the end are dropped. Handicap stones may be set up, played, or given by passes.
///
/// Games are identified by their content, so importing a file again adds nothing, and an import that was stopped or
/// killed resumes when you run the same command again. Any number of imports may write to one store at the same time:
/// each game is stored once, and every other import counts it as already present. The exit code is 1 if no game was
/// kept or already present, or if a file could not be read to its end.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen data import games.sgf --store data/imported
  tengen data import ~/sgf archive.zip --store data/imported \\
      --report rejected.jsonl
  tengen data import old.sgf --dry-run --komi 7.5 --missing-turns pass --json")]
pub(crate) struct Args {
    /// SGF files, archives of them, and folders
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
    /// The store to import into: a folder, created if needed, or an address
    #[arg(long, required_unless_present = "dry_run", value_name = "STORE")]
    store: Option<String>,
    /// The rule set to replay under
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME")]
    rules: Rules,
    /// Points for White, in steps of one half, instead of the files' komi [default: the file's komi, or 0 if it has
    /// none]
    #[arg(long, allow_hyphen_values = true)]
    komi: Option<Komi>,
    /// How to handle a game in which one side plays twice in a row outside a handicap
    #[arg(long, value_enum, default_value_t = Missing::Refuse, value_name = "HOW")]
    missing_turns: Missing,
    /// Name of the collection inside the store: letters, digits, '.', '_', '-'
    #[arg(long, default_value = "sgf")]
    name: String,
    /// Replay and report, but write no games
    #[arg(long)]
    dry_run: bool,
    /// Write all rejected games into this file, one JSON object per line [default: imports/ inside the store]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How to handle a turn that is missing from a file.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Missing {
    /// Reject the game
    Refuse,
    /// Insert a pass, marked as a turn that no player chose
    Pass,
}

/// The command's JSON result.
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
    left_out: &'a [Rejection],
    /// Path of the list of rejected games.
    report_file: Option<String>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let files = find_sources(&args.files)?;
    let interrupt = Interrupt::listen("Stopping after this game; run the same command to resume…")?;
    let (store, is_new) = open_store(&args)?;
    let mut unreadable = Vec::new();
    let report = take_files(&args, &files, store.as_ref(), &interrupt, &mut unreadable)?;
    let keeps_report = !args.dry_run && report.kept + report.duplicates > 0;
    let report_file = write_report(args.report.as_deref(), store.as_ref().filter(|_| keeps_report), &report)?;
    let folder = store.as_ref().and_then(Store::local_path);
    if let (true, true, Some(folder)) = (is_new, report.kept == 0, folder) {
        // Remove the store that was created for nothing; a folder with other contents stays.
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

/// Opens the store and says whether its folder was just created. A dry run never creates a store, but compares with its
/// games if there is one.
fn open_store(args: &Args) -> anyhow::Result<(Option<Store>, bool)> {
    let Some(location) = &args.store else {
        return Ok((None, false));
    };
    match Store::open(location, Create::Never) {
        Ok(store) => Ok((Some(store), false)),
        Err(StoreError::Missing { .. }) if args.dry_run => Ok((None, false)),
        Err(StoreError::Missing { .. }) => Ok((Some(Store::open(location, Create::Always)?), true)),
        // An existing location that is still empty.
        Err(StoreError::NotAStore { .. }) => Ok((Some(Store::open(location, Create::Always)?), false)),
        Err(error) => Err(error.into()),
    }
}

/// Reads all files in order.
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
    let bar = output::bar(
        sizes.iter().sum(),
        "[{bar:16}] {bytes} of {total_bytes}, {eta} left, {wide_msg}",
    );
    let mut done = 0;
    for (file, size) in files.iter().zip(&sizes) {
        match read_source(file) {
            Ok(sources) => {
                for source in sources.iter().take_while(|_| !interrupt.requested()) {
                    importer.take(source, |read| {
                        bar.set_position(done + size.min(&(read as u64)));
                        !interrupt.requested()
                    })?;
                    bar.set_message(output::counted(importer.report().games, "game"));
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

/// Writes the list of rejected games to a file or into the store and returns its path, if there are any.
fn write_report(file: Option<&Path>, store: Option<&Store>, report: &ImportReport) -> anyhow::Result<Option<String>> {
    let mut lines = Vec::new();
    for rejection in &report.rejections {
        serde_json::to_writer(&mut lines, rejection)?;
        lines.push(b'\n');
    }
    if let Some(path) = file {
        tengen_report::replace(path, &lines).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(Some(path.display().to_string()));
    }
    let Some(store) = store.filter(|_| !lines.is_empty()) else {
        return Ok(None);
    };
    // The name is a hash of the content, so the same import adds nothing.
    let path = format!("imports/{}.jsonl", &sha256_hex(&lines)[..16]);
    if store.files().size_of(&path)?.is_none() {
        store.files().put_new(&path, lines)?;
    }
    Ok(Some(format!("{}/{path}", store.location())))
}

/// Fails if the command ends with an error.
fn verdict(done: &Done<'_>) -> anyhow::Result<()> {
    let report = done.report;
    if !done.complete {
        say("stopped early; run the same command again to resume");
    }
    if let Some(first) = done.unreadable.first() {
        let used = match report.games {
            0 => "nothing was imported",
            _ => "the other files were imported",
        };
        bail!(
            "cannot read {}; {used}; the first: {first}",
            counted(done.unreadable.len() as u64, "file")
        );
    }
    if let Some(first) = report.unread.first() {
        let files = counted(report.unread.len() as u64, "file");
        bail!("cannot read all of {files}; games found were imported; the first: {first}");
    }
    if report.kept + report.duplicates > 0 || !done.complete {
        return Ok(());
    }
    match report.rejections.first() {
        Some(first) => bail!("every game was rejected; the first: {}", place(first)),
        None => bail!("found no games"),
    }
}

/// A rejected game, its place and the reason, on one line.
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
        (false, _) if report.kept == 0 => "nothing new to import".to_owned(),
        (false, Some(store)) => format!("imported into {store}"),
        _ => "dry run, nothing written".to_owned(),
    };
    result(format!("{target}, under {}", done.rules));
    row("files read", report.files, "");
    row("files that cannot be read", done.unreadable.len() as u64, "");
    row("files with undecodable characters", report.damaged_texts, "");
    row("games read", report.games, "");
    let positions = format!("  ({})", counted(report.positions, "position"));
    row("kept", report.kept, &positions);
    row("already present", report.duplicates, "");
    let rules: Vec<String> = report
        .illegal_by_rule
        .iter()
        .map(|(rule, games)| format!("{rule} {}", thousands(*games)))
        .collect();
    row(
        "rejected as illegal",
        report.illegal,
        &format!("  ({})", rules.join(", ")),
    );
    row("rejected as unreadable", report.broken, "");
    for (name, words) in RESULTS {
        row(words, report.results.get(name).copied().unwrap_or(0), "");
    }
    row("passes inserted for missing turns", report.added_passes, "");
    row("passes dropped after the end", report.dropped_passes, "");
    for file in done.unreadable.iter().take(SHOWN) {
        result(format!("cannot read {file}"));
    }
    for rejection in report.rejections.iter().take(SHOWN) {
        result(format!("rejected: {}", place(rejection)));
    }
    if let (Some(file), false) = (&done.report_file, report.rejections.is_empty()) {
        result(format!(
            "{} listed in {file}",
            counted(report.rejections.len() as u64, "rejected game")
        ));
    } else if report.rejections.len() > SHOWN {
        result(format!(
            "and {} more; use --report FILE to list them",
            thousands((report.rejections.len() - SHOWN) as u64)
        ));
    }
    if report.unlisted > 0 {
        result(format!(
            "{} more are counted, but not listed",
            thousands(report.unlisted)
        ));
    }
    for file in report.unread.iter().take(SHOWN) {
        result(format!("not read to its end: {file}"));
    }
}

/// Comparisons of results by name, with their row labels in table order.
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
