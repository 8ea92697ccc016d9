//! Exports the games of a store as a dataset: they are read, filtered and replayed in parallel, and written in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::json;

use tengen_records::GameRecord;
use tengen_sgf::write_sgf;
use tengen_store::{ShardInfo, Store};

use super::choose::{Chosen, choose};
use super::column::Field;
use super::complete::{About, complete};
use super::distinct::{Seen, game_key, position_key};
use super::error::DatasetError;
use super::games::{GameRow, game_fields, push_game};
use super::journal::Place;
use super::manifest::DatasetManifest;
use super::options::{ExportOptions, What, check_options};
use super::plies::taken_plies;
use super::positions::{PositionRow, position_fields, push_position};
use super::scan::{ExportProgress, Read, scan, shards_for};
use super::source::{GameSource, ShardSource};
use super::table::Table;
use super::writer::{DatasetWriter, FileFormat, PartKey};

/// Number of positions whose rows are built in memory before they go to the writer.
const BLOCK_POSITIONS: usize = 1 << 14;

/// A dataset that was written.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The folder that contains MANIFEST.json.
    pub folder: PathBuf,
    /// The contents of the manifest.
    pub manifest: DatasetManifest,
    /// Whether the remains of an interrupted dataset were removed first.
    pub cleaned: bool,
    /// Number of parts that an interrupted start of the same export had completed.
    pub resumed_parts: usize,
    /// Shards that were skipped because they are damaged or were pruned in the meantime, with the reasons.
    pub damaged: Vec<(String, String)>,
    /// Memory taken by the keys of distinct positions in bytes; 0 if all positions were taken.
    pub key_bytes: u64,
}

/// Writes a frozen dataset of the store's games or positions to `folder`/v1, completely or not at all. The same
/// store and options give the same bytes on any number of threads. `watch` receives the progress and returns
/// whether to continue.
///
/// An export that is stopped or killed keeps its complete parts in `folder`/v1.unfinished, and the same export goes on
/// after them if the store still lists the same shards. With [`ExportOptions::distinct`], it starts anew.
///
/// Memory is bounded regardless of the size of the store: a few shards, one block of rows, and one row group
/// (Parquet) or part (npz) for each split and, for npz, board size. Recognizing games takes 19 to 39 additional bytes
/// per game, and leaving out mirror images as many per position kept.
///
/// # Errors
/// [`DatasetError`]; what is then left in the folder are complete parts at most.
pub fn export(
    store: &Store,
    folder: &Path,
    options: &ExportOptions,
    watch: &mut dyn FnMut(ExportProgress) -> bool,
) -> Result<Dataset, DatasetError> {
    check_options(options)?;
    let shards = shards_for(store, &options.filter)?;
    let mut export = Export::begin(folder, options, &shards)?;
    let passes = if options.count.is_some() { 2 } else { 1 };
    let all_positions = passes * shards.iter().map(ShardInfo::positions).sum::<u64>();
    let mut progress = ExportProgress {
        all_positions,
        ..ExportProgress::default()
    };
    let (mut chosen, mut read) = (None, None);
    if let Some(count) = options.count {
        let mut watch = |positions| {
            progress.positions = positions;
            watch(progress)
        };
        let (these, all) = choose(store, &shards, &options.filter, (options.what, count), &mut watch)?;
        (chosen, read) = (Some(these), Some(all));
    }
    let wanted: Vec<_> = shards
        .iter()
        .enumerate()
        .filter(|(number, _)| chosen.as_ref().is_none_or(|chosen| chosen.contains_key(number)))
        .collect();
    let found = scan(store, &wanted, |number, games| {
        let positions = shards[number].positions();
        export.add_shard(&shards[number], number, &games, chosen.as_ref())?;
        progress.positions += positions;
        progress.rows = export.rows;
        if watch(progress) {
            Ok(())
        } else {
            Err(DatasetError::Stopped)
        }
    })?;
    export.finish(read.unwrap_or(found))
}

struct Export<'a> {
    options: &'a ExportOptions,
    fields: Vec<Field>,
    writer: DatasetWriter,
    seen: Option<Seen>,
    /// The games read so far, and how many more had the id of one of them.
    games_seen: Seen,
    doubled: u64,
    shards: Vec<String>,
    games: u64,
    rows: u64,
    duplicates: u64,
    cleaned: bool,
}

/// The rows of one game.
struct GameRows {
    key: PartKey,
    place: Place,
    table: Table,
    /// Rows that are in a part that an earlier start completed, and therefore not in the table.
    written: usize,
    /// One key per row if only distinct positions are kept.
    keys: Vec<u128>,
}

impl<'a> Export<'a> {
    fn begin(folder: &Path, options: &'a ExportOptions, shards: &[ShardInfo]) -> Result<Export<'a>, DatasetError> {
        let (content, fields) = match (options.what, options.format) {
            (_, FileFormat::Sgf) => ("games", vec![SGF_FIELD]),
            (What::Games, _) => ("games", game_fields(&options.filter.games)),
            (What::Positions, _) => ("positions", position_fields(&options.filter.games)),
        };
        // Which positions are distinct depends on all rows before, so that none could be left out.
        let plan = (!options.distinct).then(|| plan(options, shards, &fields));
        let (format, rows_per_part) = (options.format, options.rows_per_part);
        let writer = DatasetWriter::begin(folder, format, content, fields.clone(), rows_per_part, plan.as_deref())?;
        Ok(Export {
            options,
            fields,
            cleaned: writer.cleaned(),
            writer,
            seen: options.distinct.then(Seen::default),
            games_seen: Seen::default(),
            doubled: 0,
            shards: Vec::new(),
            games: 0,
            rows: 0,
            duplicates: 0,
        })
    }

    /// Adds the selected games or positions of a shard, block by block.
    fn add_shard(
        &mut self,
        shard: &ShardInfo,
        number: usize,
        games: &[GameRecord],
        chosen: Option<&Chosen>,
    ) -> Result<(), DatasetError> {
        let source = ShardSource::of(shard);
        let taken: Vec<Taken<'_>> = match chosen.map(|chosen| chosen.get(&number)) {
            None => {
                let games = games.iter().enumerate();
                let first = games
                    .clone()
                    .filter(|(_, game)| self.games_seen.insert(game_key(&game.game_id)));
                let first: Vec<_> = first.map(|(place, game)| ((number, place), game, None)).collect();
                self.doubled += (games.len() - first.len()) as u64;
                first
            }
            Some(these) => {
                let these = these.into_iter().flatten();
                these
                    .map(|(&game, plies)| ((number, game), &games[game], Some(plies.as_slice())))
                    .collect()
            }
        };
        let rows_before = self.rows;
        let mut rest = taken.as_slice();
        while !rest.is_empty() {
            let (block, later) = rest.split_at(block_length(rest));
            rest = later;
            let made: Vec<_> = block.par_iter().map(|taken| self.rows_of(taken, &source)).collect();
            for rows in made.into_iter().flatten() {
                self.add_rows(&rows)?;
            }
        }
        if self.rows > rows_before {
            self.shards.push(shard.path.clone());
        }
        Ok(())
    }

    /// The rows of a game; `None` if it does not pass the filter. `plies` are the positions chosen beforehand, if any.
    fn rows_of(&self, &(place, game, plies): &Taken<'_>, shard: &ShardSource) -> Option<GameRows> {
        let filter = &self.options.filter;
        if plies.is_none() && !filter.takes_game(game) {
            return None;
        }
        let source = GameSource::new(game, shard);
        let mut rows = GameRows {
            key: PartKey {
                split: self.options.split.map(|shares| shares.of(filter.seed, &game.game_id)),
                size: game.size,
            },
            place,
            table: Table::new(&self.fields),
            written: 0,
            keys: Vec::new(),
        };
        let is_written = self.writer.has(rows.key, place);
        match self.options.what {
            What::Games if plies.is_none() && !filter.draws(&game.game_id, None) => return None,
            What::Games if is_written => rows.written = 1,
            What::Games => self.push_game(&source, &mut rows),
            What::Positions => {
                let plies = plies.map_or_else(|| taken_plies(filter, game), <[usize]>::to_vec);
                match is_written {
                    true => rows.written = plies.len(),
                    false => self.push_positions(&source, &plies, &mut rows),
                }
            }
        }
        (rows.table.rows + rows.written > 0).then_some(rows)
    }

    fn push_game(&self, source: &GameSource<'_>, rows: &mut GameRows) {
        if self.options.format == FileFormat::Sgf {
            rows.table.columns[0].text(&Arc::from(write_sgf(source.record)));
            rows.table.rows += 1;
            return;
        }
        let mut movers = Vec::with_capacity(source.record.plies.len());
        let last = source
            .record
            .replay_with(|position, _, _| movers.push(position.to_move()));
        let replayed = "the store has replayed this game";
        let row = GameRow {
            game: source,
            start: &source.record.start().expect(replayed),
            last: &last.expect(replayed),
            movers: &movers,
        };
        push_game(&mut rows.table, &row);
    }

    fn push_positions(&self, source: &GameSource<'_>, plies: &[usize], rows: &mut GameRows) {
        let mut wanted = plies.iter().copied().peekable();
        let replayed = source.record.replay_with(|position, ply, turn| {
            if wanted.next_if_eq(&ply).is_none() {
                return;
            }
            if self.seen.is_some() {
                rows.keys
                    .push(position_key(position, &source.record.rules, source.record.komi));
            }
            let row = PositionRow {
                game: source,
                position,
                ply,
                turn,
            };
            push_position(&mut rows.table, &row);
        });
        replayed.expect("the store has replayed this game");
    }

    fn add_rows(&mut self, rows: &GameRows) -> Result<(), DatasetError> {
        if rows.written > 0 {
            self.rows += rows.written as u64;
            self.games += 1;
            return Ok(());
        }
        let kept: Vec<bool> = match &mut self.seen {
            None => vec![true; rows.table.rows],
            Some(seen) => rows.keys.iter().map(|&key| seen.insert(key)).collect(),
        };
        let count = kept.iter().filter(|&&kept| kept).count() as u64;
        self.rows += count;
        self.duplicates += rows.table.rows as u64 - count;
        self.games += u64::from(count > 0);
        self.writer.append((rows.key, rows.place), &rows.table, |row| kept[row])
    }

    fn finish(self, read: Read) -> Result<Dataset, DatasetError> {
        if self.rows == 0 {
            return Err(read.nothing_matches());
        }
        let options = self.options;
        let mut selection = options.filter.describe();
        selection["split"] = json!(options.split);
        selection["count"] = json!(options.count);
        selection["distinct"] = json!(options.distinct);
        let about = About {
            fields: self.fields,
            games: self.games,
            rows: self.rows,
            selection,
            counts: json!({
                "games_read": read.games,
                "positions_read": read.positions,
                "mirror_images_left_out": self.duplicates,
                "doubled_games_left_out": self.doubled + read.doubled,
                "shards_left_out": read.damaged.len(),
            }),
            shards: self.shards,
            sections: super::readme::export_sections(options),
        };
        let resumed_parts = self.writer.resumed_parts();
        let key_bytes = self.seen.as_ref().map_or(0, Seen::bytes);
        let (folder, manifest) = complete(self.writer, about)?;
        Ok(Dataset {
            folder,
            manifest,
            cleaned: self.cleaned,
            resumed_parts,
            damaged: read.damaged,
            key_bytes,
        })
    }
}

/// The one column of a table of SGF texts.
const SGF_FIELD: Field = Field::text("sgf", "", "The game as SGF.");

/// A game with its place and, if they were chosen beforehand, its positions.
type Taken<'a> = (Place, &'a GameRecord, Option<&'a [usize]>);

/// What is exported, as text: the same for exports that give the same parts.
fn plan(options: &ExportOptions, shards: &[ShardInfo], fields: &[Field]) -> String {
    let columns: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let paths: Vec<&str> = shards.iter().map(|shard| shard.path.as_str()).collect();
    json!({
        "tengen": env!("CARGO_PKG_VERSION"),
        "what": options.what,
        "format": options.format,
        "columns": columns,
        "filter": options.filter.describe(),
        "count": options.count,
        "split": options.split,
        "rows_per_part": options.rows_per_part,
        "shards": tengen_store::sha256_hex(paths.join("\n").as_bytes()),
    })
    .to_string()
}

/// Number of games to turn into rows at once.
fn block_length(games: &[Taken<'_>]) -> usize {
    let mut positions = 0;
    let fits = |(_, game, _): &&Taken<'_>| {
        let fits = positions < BLOCK_POSITIONS;
        positions += game.plies.len();
        fits
    };
    games.iter().take_while(fits).count()
}
