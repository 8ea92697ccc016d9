//! A store that is damaged, full of false data, contended, locked, of another version, or simply used.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use tengen_datasets::{DatasetFilter, stats};
use tengen_records::{GameKind, TreeShape};
use tengen_samples::{Window, WindowConfig};
use tengen_store::{
    Collection, Create, GamesOf, MatchFile, Put, RunInfo, ShardInfo, ShardReadError, Store, StoreError, encode,
    sha256_hex,
};
use tengen_testing::{Random, random_games, random_model};

pub(crate) fn new_store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    (folder, store)
}

fn selfplay(generation: u32) -> Collection {
    Collection::SelfPlay { generation }
}

pub(crate) fn file_of(store: &Store, path: &str) -> PathBuf {
    store.local_path().unwrap().join(path)
}

fn quarantine_reason(result: Result<Vec<tengen_records::GameRecord>, ShardReadError>) -> String {
    match result {
        Err(ShardReadError::Quarantined { reason, .. }) => reason,
        other => panic!("expected a quarantined shard, found {other:?}"),
    }
}

#[test]
fn games_are_published_listed_and_read() {
    let (_folder, store) = new_store();
    let games = random_games(3, 8);
    let late = store
        .games()
        .publish_games(&selfplay(12), "worker-1", 0, &games[..3])
        .unwrap();
    let early = store
        .games()
        .publish_games(&selfplay(2), "worker-1", 1, &games[3..])
        .unwrap();
    assert!(
        early.path.starts_with("games/v1/kind=selfplay/gen=g000002/"),
        "{}",
        early.path
    );
    let mut matches = games[..1].to_vec();
    matches[0].kind = GameKind::Match;
    let id = "g000012-vs-g000002".to_owned();
    let of_match = store
        .games()
        .publish_games(&Collection::Match { id: id.clone() }, "gate", 0, &matches)
        .unwrap();

    assert_eq!(
        store.games().list_shards(&GamesOf::SelfPlay).unwrap(),
        [early.clone(), late.clone()]
    );
    assert_eq!(
        store.games().list_shards(&GamesOf::Match(id)).unwrap(),
        std::slice::from_ref(&of_match)
    );
    assert_eq!(store.games().list_shards(&GamesOf::All).unwrap().len(), 3);
    assert_eq!(store.games().read(&late).unwrap(), games[..3]);
    assert_eq!(store.games().read(&late).unwrap(), games[..3]);
    assert_eq!(store.games().read(&of_match).unwrap(), matches);
    assert_eq!(late.games(), 3);
    let plies: usize = games[..3].iter().map(|game| game.plies.len()).sum();
    assert_eq!(late.positions(), plies as u64);
}

#[test]
fn remains_of_interrupted_puts_are_ignored() {
    let (_folder, store) = new_store();
    let shard = store
        .games()
        .publish_games(&selfplay(1), "w", 0, &random_games(3, 2))
        .unwrap();
    let file = file_of(&store, &shard.path);
    for remains in ["#1", "#27", ".tmp", "~"] {
        fs::write(format!("{}{remains}", file.display()), b"half").unwrap();
    }
    fs::write(file.with_file_name("notes.parquet"), b"half").unwrap();
    assert_eq!(
        store.games().list_shards(&GamesOf::All).unwrap(),
        std::slice::from_ref(&shard)
    );
    // The staging name is available again for a later writer.
    assert_eq!(
        store.files().put_new(&shard.path, b"other".to_vec()).unwrap(),
        Put::Exists
    );
    assert_eq!(store.games().read(&shard).unwrap().len(), 2);
}

/// Flips single bits all over real shards on disk: every flip must be detected and none may panic.
#[test]
fn every_flipped_bit_is_detected() {
    const FLIPS: usize = 400;
    let (_folder, store) = new_store();
    let mut random = Random::new(99);
    for (sequence, (side, count)) in [(4, 6), (2, 300), (9, 12)].into_iter().enumerate() {
        let games = random_games(side, count);
        let shard = store
            .games()
            .publish_games(&selfplay(1), "w", sequence as u64, &games)
            .unwrap();
        let file = file_of(&store, &shard.path);
        let whole = fs::read(&file).unwrap();
        let flips: BTreeSet<(usize, u8)> = (0..FLIPS)
            .map(|_| (random.below(whole.len()), 1u8 << random.below(8)))
            .chain([(0, 1), (whole.len() - 1, 128)])
            .collect();
        assert!(flips.len() > FLIPS * 9 / 10, "most flips are at distinct positions");
        for (place, bit) in flips {
            let mut damaged = whole.clone();
            damaged[place] ^= bit;
            fs::write(&file, &damaged).unwrap();
            let found = store.games().inspect(&shard).unwrap();
            assert!(found.is_err(), "bit {bit} of byte {place} went undetected");
        }
        fs::write(&file, &whole).unwrap();
        assert_eq!(store.games().inspect(&shard).unwrap().unwrap(), games);
    }
}

#[test]
fn a_damaged_shard_is_quarantined_and_skipped() {
    let (_folder, store) = new_store();
    let games = random_games(3, 4);
    let good = store.games().publish_games(&selfplay(1), "w", 0, &games).unwrap();
    let bad = store.games().publish_games(&selfplay(1), "w", 1, &games[1..]).unwrap();
    let file = file_of(&store, &bad.path);
    let mut bytes = fs::read(&file).unwrap();
    bytes[200] ^= 4;
    fs::write(&file, &bytes).unwrap();

    let reason = quarantine_reason(store.games().read(&bad));
    assert!(
        reason.contains("SHA-256") && reason.contains(&bad.name.hash16),
        "{reason}"
    );
    assert_eq!(
        store.games().list_shards(&GamesOf::All).unwrap(),
        std::slice::from_ref(&good)
    );
    let again = Store::open(store.location(), Create::Never).unwrap();
    assert_eq!(
        again.games().list_shards(&GamesOf::All).unwrap(),
        std::slice::from_ref(&good)
    );
    let notes = again.games().quarantine_notes().unwrap();
    assert_eq!(
        (notes.len(), &notes[0].shard, &notes[0].reason),
        (1, &bad.path, &reason)
    );
    assert!(file.exists(), "the damaged shard stays where it is");

    let report = store.verify(|_, _| {}).unwrap();
    assert!(report.is_sound());
    assert_eq!((report.shards, report.games, report.damaged.len()), (2, 4, 1));
    let stats = stats(&store, &everything(), TreeShape::default(), |_, _| ()).unwrap();
    assert_eq!((stats.shards, stats.quarantined, stats.games.games), (1, 1, 4));
}

#[test]
fn truncated_and_missing_shards_are_distinguished() {
    let (_folder, store) = new_store();
    let shard = store
        .games()
        .publish_games(&selfplay(1), "w", 0, &random_games(3, 4))
        .unwrap();
    let file = file_of(&store, &shard.path);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 10]).unwrap();
    let reason = quarantine_reason(store.games().read(&shard));
    assert!(reason.contains(&format!("{} bytes", bytes.len())), "{reason}");
    fs::remove_file(&file).unwrap();
    let error = store.games().read(&shard).unwrap_err();
    assert!(
        matches!(error, ShardReadError::Store(StoreError::NotFound { .. })),
        "{error}"
    );
}

/// Puts bytes under a name with their true hash, as a faulty writer would.
fn publish_raw(store: &Store, bytes: Vec<u8>, games: usize, positions: usize) -> ShardInfo {
    let hash = sha256_hex(&bytes);
    let folder = selfplay(7).folder();
    let path = format!(
        "{folder}/1790000000000-liar-0-{games}g-{positions}p-{}.parquet",
        &hash[..16]
    );
    store.files().put_new(&path, bytes).unwrap();
    store
        .games()
        .list_shards(&GamesOf::All)
        .unwrap()
        .into_iter()
        .find(|shard| shard.path == path)
        .unwrap()
}

#[test]
fn false_shards_are_quarantined_with_the_exact_reason() {
    let positions = |games: &[tengen_records::GameRecord]| games.iter().map(|game| game.plies.len()).sum::<usize>();
    let check = |change: fn(&mut tengen_records::GameRecord), words: &str| {
        let (_folder, store) = new_store();
        let mut games = random_games(3, 3);
        change(&mut games[1]);
        let shard = publish_raw(&store, encode(&games), 3, positions(&games));
        let reason = quarantine_reason(store.games().read(&shard));
        assert!(
            reason.contains(words) && reason.contains(&games[1].game_id),
            "expected {words:?} in: {reason}"
        );
    };
    check(
        |game| game.score_half_points = game.score_half_points.map(|score| score - 2),
        "the score after komi counts to",
    );
    check(
        |game| game.plies.iter_mut().for_each(|ply| ply.mv = game_move(ply.mv)),
        "illegal",
    );
    check(
        |game| game.ownership[0] = 1 - game.ownership[0].abs(),
        "ownership of point 0",
    );
    check(|game| game.kind = GameKind::Match, "expected a selfplay game");

    let (_folder, store) = new_store();
    let games = random_games(3, 3);
    let shard = publish_raw(&store, encode(&games), 4, positions(&games));
    let reason = quarantine_reason(store.games().read(&shard));
    assert!(reason.contains("expected 4 games"), "{reason}");
    let shard = publish_raw(&store, b"not Parquet".to_vec(), 1, 1);
    let reason = quarantine_reason(store.games().read(&shard));
    assert!(reason.contains("expected a Parquet file"), "{reason}");
}

#[test]
fn a_duplicate_game_in_a_shard_is_detected() {
    let (_folder, store) = new_store();
    let mut games = random_games(3, 3);
    games[2] = games[0].clone();
    let positions = games.iter().map(|game| game.plies.len()).sum();
    let shard = publish_raw(&store, encode(&games), 3, positions);
    let reason = quarantine_reason(store.games().read(&shard));
    assert!(
        reason.contains("twice") && reason.contains(&games[0].game_id),
        "{reason}"
    );
}

/// A store on a read-only medium, for example: reading it requires no writing.
#[test]
fn a_damaged_shard_is_skipped_even_if_no_note_can_be_written() {
    let (_folder, store) = new_store();
    let games = random_games(3, 4);
    let good = store.games().publish_games(&selfplay(1), "w", 0, &games).unwrap();
    let bad = store.games().publish_games(&selfplay(1), "w", 1, &games[1..]).unwrap();
    fs::write(file_of(&store, &bad.path), "damaged").unwrap();
    fs::write(file_of(&store, "quarantine"), "a file in place of the folder").unwrap();
    let reason = quarantine_reason(store.games().read(&bad));
    assert!(
        reason.contains("7") && reason.contains("could not write the quarantine note"),
        "{reason}"
    );
    assert_eq!(store.games().list_shards(&GamesOf::All).unwrap(), [good]);
    assert_eq!(
        stats(&store, &everything(), TreeShape::default(), |_, _| ())
            .unwrap()
            .games
            .games,
        4
    );
}

/// Redirects every play to one point, which is illegal the second time.
fn game_move(mv: tengen_rules::Move) -> tengen_rules::Move {
    let size = tengen_rules::Size::square(3).unwrap();
    match mv {
        tengen_rules::Move::Pass => mv,
        tengen_rules::Move::Play(_) => tengen_rules::Move::from_index(size, 4).unwrap(),
    }
}

#[test]
fn exactly_one_of_many_writers_of_a_name_wins() {
    let (_folder, store) = new_store();
    for round in 0..20 {
        let path = format!("promotions/{round:06}.json");
        let results: Vec<(usize, Put)> = thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (store, path) = (store.clone(), &path);
                    scope.spawn(move || (writer, store.files().put_new(path, format!("writer {writer}")).unwrap()))
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let winners: Vec<_> = results.iter().filter(|(_, put)| *put == Put::Created).collect();
        assert_eq!(winners.len(), 1, "{results:?}");
        assert_eq!(
            store.files().get(&path).unwrap().unwrap(),
            format!("writer {}", winners[0].0)
        );
    }
}

#[test]
fn two_store_handles_publish_concurrently() {
    let (_folder, store) = new_store();
    let other = Store::open(store.location(), Create::Always).unwrap();
    let games = random_games(3, 2);
    thread::scope(|scope| {
        for (worker, store) in [("a", &store), ("b", &other)] {
            let games = &games;
            scope.spawn(move || {
                for sequence in 0..10 {
                    store
                        .games()
                        .publish_games(&selfplay(1), worker, sequence, games)
                        .unwrap();
                }
            });
        }
    });
    let shards = store.games().list_shards(&GamesOf::All).unwrap();
    assert_eq!(shards.len(), 20);
    assert!(shards.iter().all(|shard| store.games().read(shard).unwrap() == games));
}

#[test]
fn only_one_run_holds_a_store() {
    let (_folder, store) = new_store();
    let lock = store.lock_run().unwrap();
    let other = Store::open(store.location(), Create::Always).unwrap();
    let error = other.lock_run().unwrap_err();
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    assert!(matches!(error, StoreError::Locked { .. }));
    drop(lock);
    let _again = other.lock_run().unwrap();
}

#[test]
fn locations_without_a_store_are_reported() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    assert!(matches!(
        Store::open(&path("none"), Create::Never),
        Err(StoreError::Missing { .. })
    ));
    assert!(!folder.path().join("none").exists());
    fs::write(path("file"), "text").unwrap();
    assert!(matches!(
        Store::open(&path("file"), Create::Always),
        Err(StoreError::NotAStore { .. })
    ));
    fs::create_dir(path("empty")).unwrap();
    assert!(matches!(
        Store::open(&path("empty"), Create::Never),
        Err(StoreError::NotAStore { .. })
    ));
    assert!(matches!(
        Store::open("ftp://bucket/x", Create::Always),
        Err(StoreError::UnsupportedLocation { .. })
    ));
    #[cfg(not(feature = "cloud"))]
    assert!(matches!(
        Store::open("s3://bucket/x", Create::Always),
        Err(StoreError::NoCloud { .. })
    ));
    let address = format!("file://{}", path("by-address"));
    assert!(Store::open(&address, Create::Always).is_ok());
    assert!(folder.path().join("by-address").is_dir());
}

#[test]
fn other_format_versions_are_rejected() {
    let (_folder, store) = new_store();
    let mut info = RunInfo::new("run-1", 1, "tromp_taylor", vec!["5x5".to_owned()], json!({"a": 1}));
    assert_eq!(store.put_run_info(&info).unwrap(), Put::Created);
    assert_eq!(store.put_run_info(&info).unwrap(), Put::Exists);
    assert_eq!(store.run_info().unwrap().unwrap(), info);
    Store::open(store.location(), Create::Never).unwrap();

    let (_folder, other) = new_store();
    info.format_version = "2.0".to_owned();
    other.put_run_info(&info).unwrap();
    let error = Store::open(other.location(), Create::Always).unwrap_err();
    assert!(
        matches!(&error, StoreError::Version { found, .. } if found == "2.0"),
        "{error}"
    );

    let (_folder, other) = new_store();
    other
        .files()
        .put_new("games/v2/kind=selfplay/gen=g000001/x.parquet", "x")
        .unwrap();
    let error = Store::open(other.location(), Create::Always).unwrap_err();
    assert!(
        matches!(&error, StoreError::Version { found, .. } if found == "2"),
        "{error}"
    );

    let (_folder, other) = new_store();
    other.files().put_new("run.json", "{\"format_version\": 3").unwrap();
    let error = Store::open(other.location(), Create::Always).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn match_files_are_written_once() {
    let (_folder, store) = new_store();
    assert_eq!(store.matches().put("m-1", MatchFile::Spec, "{}").unwrap(), Put::Created);
    assert_eq!(store.matches().put("m-1", MatchFile::Spec, "[]").unwrap(), Put::Exists);
    assert_eq!(store.matches().get("m-1", MatchFile::Spec).unwrap().unwrap(), "{}");
    assert!(store.matches().get("m-1", MatchFile::Result).unwrap().is_none());
    assert_eq!(store.matches().list().unwrap(), ["m-1"]);
    assert!(store.matches().put("m/1", MatchFile::Spec, "{}").is_err());
}

/// One damaged shard is tolerated, more than 1% of a window is not, and damage older than the window does not count.
#[test]
fn a_window_tolerates_one_damaged_shard_in_a_hundred() {
    let (_folder, store) = new_store();
    let game = random_games(2, 1);
    for generation in 0..200 {
        store
            .games()
            .publish_games(&selfplay(generation), "w", 0, &game)
            .unwrap();
    }
    let mut shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    let positions: u64 = shards.iter().map(ShardInfo::positions).sum();
    let whole = WindowConfig {
        base_positions: positions,
        fraction: 0.0,
    };
    let spoil = |number: usize| {
        fs::write(file_of(&store, &shards[number].path), "damaged").unwrap();
        quarantine_reason(store.games().read(&shards[number]));
        store.games().list(&GamesOf::SelfPlay).unwrap().damaged
    };
    let window = |share: f64| {
        let good = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
        let base_positions = (positions as f64 * share) as u64;
        Window::select(
            &good,
            WindowConfig {
                base_positions,
                ..whole
            },
        )
    };
    assert_eq!(window(1.0).check_damage(&spoil(190)), Ok(()));
    assert_eq!(window(0.1).check_damage(&spoil(10)), Ok(()));
    assert_eq!(window(1.0).check_damage(&spoil(191)).unwrap_err().bad, 3);
    let error = window(0.1).check_damage(&spoil(192)).unwrap_err();
    assert_eq!(error.bad, 3);
    assert!(
        error.to_string().contains("at most 1%") && error.to_string().contains(&shards[192].path),
        "{error}"
    );
    assert_eq!(
        Window::select(&[], whole)
            .check_damage(&shards.split_off(190))
            .unwrap_err()
            .bad,
        10
    );
}

#[cfg(unix)]
#[test]
fn an_unwritable_store_reports_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let (_folder, store) = new_store();
    let games = random_games(3, 2);
    store.games().publish_games(&selfplay(1), "w", 0, &games).unwrap();
    // A file in place of a folder stops every user, even one with all permissions.
    store.files().put_new("models", "in the way").unwrap();
    let error = store.models().publish(1, &random_model(1)).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");

    let place = file_of(&store, &selfplay(1).folder());
    fs::set_permissions(&place, fs::Permissions::from_mode(0o555)).unwrap();
    let may_write_anyway = fs::write(place.join("probe"), "x").is_ok();
    let result = store.games().publish_games(&selfplay(1), "w", 1, &games);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    if !may_write_anyway {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("nothing was partially published"), "{error}");
        assert_eq!(store.games().list_shards(&GamesOf::All).unwrap().len(), 1);
    }
}

#[test]
fn the_window_selects_the_newest_shards_by_name() {
    let (_folder, store) = new_store();
    let games = random_games(3, 12);
    for (number, part) in games.chunks(2).enumerate() {
        store
            .games()
            .publish_games(&selfplay(number as u32), "w", 0, part)
            .unwrap();
    }
    let shards = store.games().list_shards(&GamesOf::SelfPlay).unwrap();
    let total: u64 = shards.iter().map(ShardInfo::positions).sum();
    let select = |base_positions, fraction| {
        Window::select(
            &shards,
            WindowConfig {
                base_positions,
                fraction,
            },
        )
    };
    assert_eq!(select(0, 0.0).shards, []);
    assert_eq!(select(1, 0.0).shards, shards[5..]);
    assert_eq!(select(shards[5].positions() + 1, 0.0).shards, shards[4..]);
    assert_eq!(select(u64::MAX, 1.0).shards, shards);
    let half = select(0, 0.5);
    assert!(half.positions >= total / 2 && half.positions < total);
    assert_eq!(half.total_positions, total);
    assert_eq!(
        half.positions,
        half.shards.iter().map(ShardInfo::positions).sum::<u64>()
    );
}

fn everything() -> DatasetFilter {
    DatasetFilter {
        games: GamesOf::All,
        ..DatasetFilter::default()
    }
}
