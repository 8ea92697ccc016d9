//! Imported games: judged under strict rules, stored with their files' claims, identified by content.

use std::io::Write;
use std::path::Path;

use tengen_import::{
    ImportReport, ImportRules, Importer, MAX_REJECTIONS, MissingTurns, SgfSource, find_sources, read_source,
};
use tengen_records::{EndReason, GameRecord, OPENING};
use tengen_rules::{Color, Handicap, Komi, Outcome, Rules, Size};
use tengen_sgf::{write_sgf, write_sgf_collection};
use tengen_store::{Create, GamesOf, Store};
use tengen_testing::random_game;

fn how(rules: &str) -> ImportRules {
    ImportRules {
        rules: rules.parse::<Rules>().unwrap(),
        komi: None,
        missing_turns: MissingTurns::Refuse,
    }
}

fn import(store: &Store, text: &str, how: ImportRules) -> ImportReport {
    let source = SgfSource {
        name: "test.sgf".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let mut importer = Importer::new(Some(store), "test", how).unwrap();
    importer.take(&source, |_| true).unwrap();
    importer.finish().unwrap()
}

fn games(store: &Store) -> Vec<GameRecord> {
    let shards = store.games().list_shards(&GamesOf::Imported).unwrap();
    shards
        .iter()
        .flat_map(|shard| store.games().read(shard).unwrap())
        .collect()
}

fn new_store(folder: &Path) -> Store {
    Store::open(folder.join("store").to_str().unwrap(), Create::Always).unwrap()
}

/// Imports one game that must be kept and returns it as read from the store, checked by replay.
fn kept(text: &str, how: ImportRules) -> (GameRecord, ImportReport) {
    let folder = tempfile::tempdir().unwrap();
    let store = new_store(folder.path());
    let report = import(&store, text, how);
    assert_eq!(report.rejections, [], "{text}");
    let mut games = games(&store);
    assert_eq!(games.len(), 1, "{text}");
    (games.remove(0), report)
}

#[test]
fn results_are_scored_only_if_two_passes_end_the_game() {
    // After one stone and two passes, the whole 5x5 board belongs to Black.
    for (ending, claim, reason, score, result, outcome) in [
        (
            "W[];B[]",
            "B+24.5",
            EndReason::TwoPasses,
            Some(49),
            "agrees",
            Some(Outcome::BlackWins),
        ),
        (
            "W[];B[]",
            "B+24,50",
            EndReason::TwoPasses,
            Some(49),
            "agrees",
            Some(Outcome::BlackWins),
        ),
        (
            "W[];B[]",
            "B+",
            EndReason::TwoPasses,
            Some(49),
            "agrees",
            Some(Outcome::BlackWins),
        ),
        (
            "W[];B[]",
            "B+3.5",
            EndReason::TwoPasses,
            Some(49),
            "other_margin",
            Some(Outcome::BlackWins),
        ),
        (
            "W[];B[]",
            "W+3.5",
            EndReason::TwoPasses,
            Some(49),
            "other_winner",
            Some(Outcome::BlackWins),
        ),
        (
            "W[];B[]",
            "0",
            EndReason::TwoPasses,
            Some(49),
            "other_winner",
            Some(Outcome::BlackWins),
        ),
        (
            "W[];B[]",
            "W+R",
            EndReason::TwoPasses,
            Some(49),
            "no_claim",
            Some(Outcome::BlackWins),
        ),
        (
            "W[];B[]",
            "?",
            EndReason::TwoPasses,
            Some(49),
            "no_claim",
            Some(Outcome::BlackWins),
        ),
        (
            "W[]",
            "B+R",
            EndReason::Resign,
            None,
            "resignation",
            Some(Outcome::BlackWins),
        ),
        // The claim says which side resigned, regardless of whose turn it is.
        (
            "W[]",
            "W+R",
            EndReason::Resign,
            None,
            "resignation",
            Some(Outcome::WhiteWins),
        ),
        (
            "W[aa]",
            "B+Time",
            EndReason::Forfeit,
            None,
            "forfeit",
            Some(Outcome::BlackWins),
        ),
        (
            "W[aa]",
            "W+F",
            EndReason::Forfeit,
            None,
            "forfeit",
            Some(Outcome::WhiteWins),
        ),
        // Agreement on dead stones is not a score, because the players did not pass twice.
        ("W[aa]", "B+24.5", EndReason::Unfinished, None, "unfinished", None),
        ("W[aa]", "Void", EndReason::Unfinished, None, "unfinished", None),
        ("W[aa]", "", EndReason::Unfinished, None, "unfinished", None),
    ] {
        let text = format!("(;SZ[5]KM[0.5]RE[{claim}];B[cc];{ending})");
        let (game, report) = kept(&text, how("tromp_taylor"));
        assert_eq!((game.end_reason, game.score_half_points), (reason, score), "{text}");
        assert_eq!(report.results.keys().collect::<Vec<_>>(), [&result], "{text}");
        assert_eq!(game.outcome(), outcome, "{text}");
        let claimed = game.origin.as_ref().unwrap().result.clone().unwrap_or_default();
        assert_eq!(claimed, claim, "the claim is kept verbatim");
        game.validate().unwrap();
    }
}

#[test]
fn handicaps_and_setup_stones_start_the_game() {
    let start = |text: &str| {
        let (game, _) = kept(text, how("tromp_taylor"));
        let stones = game.setup.stones.map(|stones| stones.len());
        (game.setup.handicap, stones, game.setup.to_move, game.plies.len())
    };
    use Color::{Black, White};
    for (text, expected) in [
        ("(;SZ[9];B[cc];W[gg])", (Handicap::Even, [0, 0], Black, 2)),
        ("(;SZ[9];W[cc];B[gg])", (Handicap::Even, [0, 0], White, 2)),
        ("(;SZ[9]HA[0];B[cc])", (Handicap::Even, [0, 0], Black, 1)),
        ("(;SZ[9]HA[2]AB[cc][gg];W[ee])", (Handicap::Fixed(2), [2, 0], White, 1)),
        ("(;SZ[9]HA[2]AB[cc][gg])", (Handicap::Fixed(2), [2, 0], White, 0)),
        (
            "(;SZ[9]HA[2];AB[cc];AB[gg];W[ee])",
            (Handicap::Fixed(2), [2, 0], White, 1),
        ),
        ("(;SZ[9]AB[cc:ec]AW[ee];B[gg])", (Handicap::Even, [3, 1], Black, 1)),
        ("(;SZ[9]AB[cc]PL[W])", (Handicap::Even, [1, 0], White, 0)),
        (
            "(;SZ[9]HA[3];B[cc];B[gg];B[ee];W[ca])",
            (Handicap::Consecutive(3), [0, 0], Black, 4),
        ),
        (
            "(;SZ[9]HA[2];B[cc];W[];B[gg];W[ee])",
            (Handicap::WhitePasses(2), [0, 0], Black, 4),
        ),
        ("(;SZ[9]HA[4];B[cc];W[ee])", (Handicap::Even, [0, 0], Black, 2)),
    ] {
        assert_eq!(start(text), expected, "{text}");
    }
}

#[test]
fn missing_turns_are_rejected_or_become_passes() {
    let text = "(;SZ[5];B[aa];B[bb];W[cc];W[dd])";
    let folder = tempfile::tempdir().unwrap();
    let report = import(&new_store(folder.path()), text, how("tromp_taylor"));
    assert_eq!(report.illegal_by_rule.get("turn_order"), Some(&1));
    let (game, report) = kept(
        text,
        ImportRules {
            missing_turns: MissingTurns::Pass,
            ..how("tromp_taylor")
        },
    );
    let marked: Vec<bool> = game.plies.iter().map(|ply| ply.has(OPENING)).collect();
    assert_eq!(marked, [false, true, false, false, true, false]);
    assert_eq!(report.added_passes, 2);
}

#[test]
fn passes_after_the_end_are_dropped_and_counted() {
    let (game, report) = kept("(;SZ[5];B[];W[];B[];W[tt])", how("tromp_taylor"));
    assert_eq!((game.plies.len(), report.dropped_passes), (2, 2));
}

#[test]
fn the_first_variation_is_imported_with_its_claims() {
    let text =
        "(;SZ[5]KM[6,5]PB[A]PW[五郎]BR[9d]WR[1k]DT[1998-11-05,06]EV[Cup]RU[Japanese]HA[0];B[aa](;W[bb];B[cc])(;W[dd]))";
    let (game, _) = kept(text, how("tromp_taylor"));
    assert_eq!(game.plies.len(), 3);
    assert_eq!((game.black_model.as_str(), game.white_model.as_str()), ("A", "五郎"));
    assert_eq!(game.komi, Komi::from_half_points(13));
    assert_eq!(game.start_time_ms, 910_224_000_000, "1998-11-05 at midnight UTC");
    let origin = game.origin.unwrap();
    assert_eq!(
        (origin.file.as_str(), origin.game, origin.handicap),
        ("test.sgf", 1, Some(0))
    );
    let words = [
        &origin.komi,
        &origin.rules,
        &origin.black_rank,
        &origin.white_rank,
        &origin.date,
        &origin.event,
    ];
    let expected = ["6,5", "Japanese", "9d", "1k", "1998-11-05,06", "Cup"];
    assert_eq!(words.map(|word| word.as_deref().unwrap()), expected);
}

#[test]
fn every_violation_is_reported_with_file_game_turn_and_position() {
    let good = "(;SZ[5];B[ee])\n";
    let check = |rules: &str, text: &str, rule: &str, turn: Option<usize>, column: usize, words: &str| {
        let folder = tempfile::tempdir().unwrap();
        let store = new_store(folder.path());
        let report = import(&store, &format!("{good}{text}\n(;SZ[5];B[dd])"), how(rules));
        assert_eq!(
            (report.games, report.kept, report.rejections.len()),
            (3, 2, 1),
            "{text}: {report:?}"
        );
        let found = &report.rejections[0];
        assert_eq!(
            (found.file.as_str(), found.game, found.line),
            ("test.sgf", 2, 2),
            "{text}"
        );
        assert_eq!(
            (found.rule, found.turn, found.column),
            (rule, turn, column),
            "{text}: {found:?}"
        );
        assert!(found.reason.contains(words), "{}", found.reason);
        assert_eq!(games(&store).len(), 2, "the rest is kept");
    };
    let ko = "(;SZ[4]AB[ba][ab][bc]AW[ca][bb][db][cc];B[cb];W[bb])";
    let suicide = "(;SZ[5]AB[ba][ab];W[aa])";
    check(
        "tromp_taylor",
        "(;SZ[5];B[aa];W[aa])",
        "occupied",
        Some(2),
        15,
        "occupied",
    );
    check(
        "tromp_taylor",
        "(;SZ[5];B[];W[];B[aa])",
        "game_over",
        Some(3),
        17,
        "game is over",
    );
    check("tromp_taylor", ko, "ko", Some(2), 47, "repeats the start");
    check(
        "tromp_taylor,suicide=forbidden",
        suicide,
        "suicide",
        Some(1),
        19,
        "suicide is forbidden",
    );
    check(
        "tromp_taylor",
        "(;SZ[5];B[aa];B[bb])",
        "turn_order",
        Some(2),
        15,
        "turn is missing from the file",
    );
    check(
        "tromp_taylor",
        "(;SZ[3]AB[aa][ba]AW[ab][bb][ca])",
        "setup",
        None,
        8,
        "no liberty",
    );
    check("tromp_taylor", "(;SZ[5]KM[3.75];B[aa])", "komi", None, 3, "set --komi");
    check("tromp_taylor", "(;SZ[5]KM[375];B[aa])", "komi", None, 3, "25 points");
    check("tromp_taylor", "(;SZ[52];B[aa])", "broken", None, 3, "SZ[52]");
    check("tromp_taylor", "(;SZ[5];B[ff])", "broken", Some(1), 9, "5x5");
    check(
        "tromp_taylor",
        "(;SZ[5];B[aa];AB[bb])",
        "broken",
        Some(1),
        15,
        "set up after",
    );
    check("tromp_taylor", "(;GM[4])", "broken", None, 3, "GM[4]");
}

#[test]
fn our_own_games_survive_a_round_trip() {
    let originals: Vec<_> = (0..12)
        .map(|seed| random_game(Size::square(5).unwrap(), seed, 200))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let store = new_store(folder.path());
    let report = import(&store, &write_sgf_collection(&originals), how("tromp_taylor"));
    assert_eq!((report.kept, report.rejections.len()), (12, 0));
    for (ours, original) in games(&store).iter().zip(&originals) {
        assert_eq!(
            ours.plies.iter().map(|ply| ply.mv).collect::<Vec<_>>(),
            original.plies.iter().map(|ply| ply.mv).collect::<Vec<_>>()
        );
        assert_eq!(
            (ours.komi, ours.score_half_points),
            (original.komi, original.score_half_points)
        );
        assert_eq!(ours.ownership, original.ownership);
    }
    let finished = originals.iter().filter(|game| game.is_finished()).count() as u64;
    assert!(
        finished > 0 && report.results.get("agrees") == Some(&finished),
        "{report:?}"
    );
}

#[test]
fn importing_again_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = new_store(folder.path());
    let text = "(;SZ[5];B[aa])(;SZ[5];B[bb])(;SZ[5];B[aa])";
    let first = import(&store, text, how("tromp_taylor"));
    assert_eq!((first.kept, first.duplicates, first.shards.len()), (2, 1, 1));
    let again = import(&store, text, how("tromp_taylor"));
    assert_eq!((again.kept, again.duplicates, again.shards.len()), (0, 3, 0));
    let more = import(
        &store,
        "(;SZ[5];B[bb])(;SZ[5];B[cc])(;SZ[5]PB[x];B[cc])",
        how("tromp_taylor"),
    );
    assert_eq!(
        (more.kept, more.duplicates),
        (2, 1),
        "a different player makes a different game"
    );
    assert_eq!(games(&store).len(), 4);
    assert!(store.verify(|_, _| {}).unwrap().is_sound());
    let exact = ImportRules {
        komi: Some(Komi::from_half_points(15)),
        ..how("tromp_taylor")
    };
    assert_eq!(
        import(&store, text, exact).kept,
        2,
        "a different komi makes a different game"
    );
}

#[test]
fn files_folders_and_archives_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let game = write_sgf(&random_game(Size::square(5).unwrap(), 3, 40)).into_bytes();
    std::fs::create_dir_all(path("deep/er")).unwrap();
    std::fs::write(path("deep/er/B.SGF"), &game).unwrap();
    std::fs::write(path("deep/a.sgf"), &game).unwrap();
    std::fs::write(path("deep/notes.txt"), "not a game").unwrap();
    let gzip = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(game.len() as u64);
    for name in ["x/one.sgf", "x/two.sgf", "x/readme"] {
        tar.append_data(&mut header.clone(), name, game.as_slice()).unwrap();
    }
    let tar = tar.into_inner().unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["three.sgf", "image.png"] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&game).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    for (name, bytes) in [
        ("deep/c.sgf.gz", gzip(&game)),
        ("deep/d.tar.gz", gzip(&tar)),
        ("deep/e.zip", zip),
        ("deep/f.tar", tar),
    ] {
        std::fs::write(path(name), &bytes).unwrap();
        // Every truncated archive is rejected as a whole.
        let after_one_file = 512 + game.len().next_multiple_of(512);
        let mut cuts = vec![20, bytes.len() / 3, bytes.len() / 2];
        cuts.extend(name.ends_with(".tar").then_some(after_one_file));
        for cut in cuts {
            let short = path("short");
            std::fs::write(&short, &bytes[..cut]).unwrap();
            if name.ends_with(".tar") && cut < 300 {
                continue;
            }
            let error = read_source(&short).expect_err(name).to_string();
            assert!(error.contains("truncated"), "{name} cut at {cut}: {error}");
        }
    }
    let files = find_sources(&[path("deep")]).unwrap();
    let names: Vec<_> = files
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["a.sgf", "c.sgf.gz", "d.tar.gz", "e.zip", "B.SGF", "f.tar"]);
    let found: Vec<_> = files.iter().flat_map(|file| read_source(file).unwrap()).collect();
    assert_eq!(found.len(), 8);
    assert!(found.iter().all(|source| source.bytes == game));
    assert!(found.iter().any(|source| source.name.ends_with("d.tar.gz/x/two.sgf")));
    std::fs::create_dir(path("empty")).unwrap();
    assert!(
        find_sources(&[path("empty")])
            .unwrap_err()
            .to_string()
            .contains("found none in this folder")
    );
    assert!(find_sources(&[path("nowhere")]).is_err());
}

/// A pipe has no end to read to, and a device may have none either: they are named, and nothing waits for them.
#[test]
fn only_regular_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.sgf");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let link = folder.path().join("zeros.sgf");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    for path in find_sources(&[folder.path().to_owned(), pipe]).unwrap() {
        let error = read_source(&path).unwrap_err().to_string();
        assert!(error.contains("expected a regular file"), "{error}");
    }
}

/// What is unpacked stays in proportion to the archive.
#[test]
fn decompression_bombs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        read_source(&path).expect_err(name).to_string()
    };
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    (0..100).for_each(|_| packer.write_all(&[b' '; 1 << 20]).unwrap());
    assert!(refused("large.sgf.gz", &packer.finish().unwrap()).contains("MiB of games"));
    // Forty names for the data of one file.
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("00.sgf", stored).unwrap();
    zip.write_all(&[b' '; 4000]).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    let (rest, end) = zip.split_at(zip.len() - 22);
    let start = u32::from_le_bytes(end[16..20].try_into().unwrap()) as usize;
    let (data, entry) = rest.split_at(start);
    let mut overlapping = data.to_vec();
    for number in 0..40 {
        let mut entry = entry.to_vec();
        entry[46..48].copy_from_slice(format!("{number:02}").as_bytes());
        overlapping.extend(entry);
    }
    let size = (overlapping.len() - start) as u32;
    overlapping.extend(&end[..8]);
    overlapping.extend([40, 0, 40, 0]);
    overlapping.extend(size.to_le_bytes());
    overlapping.extend(&end[16..]);
    let reason = refused("overlapping.zip", &overlapping);
    assert!(reason.contains("data of their own"), "{reason}");
}

#[test]
fn rejected_games_are_counted_beyond_those_listed() {
    let text = "(;SZ[5];B[zz])".repeat(MAX_REJECTIONS + 3);
    let mut importer = Importer::new(None, "test", how("tromp_taylor")).unwrap();
    let source = SgfSource {
        name: "test.sgf".to_owned(),
        bytes: text.into_bytes(),
    };
    importer.take(&source, |_| true).unwrap();
    let report = importer.finish().unwrap();
    assert_eq!(report.broken, MAX_REJECTIONS as u64 + 3);
    assert_eq!((report.rejections.len(), report.unlisted), (MAX_REJECTIONS, 3));
}

/// No game disappears after a broken one, and a file that is not read to its end is named.
#[test]
fn every_game_is_kept_or_rejected() {
    let game = |name: &str, middle: &str| format!("(;PB[{name}]SZ[5]KM[0]{middle};B[cc];W[bb];B[];W[])\n");
    let text = [("a", ""), ("b", " 9 "), ("c", ""), ("d", "")].map(|(name, middle)| game(name, middle));
    let folder = tempfile::tempdir().unwrap();
    let store = new_store(folder.path());
    let report = import(&store, &text.concat(), how("tromp_taylor"));
    assert_eq!((report.games, report.kept, report.broken), (4, 3, 1));
    assert_eq!(report.unread, Vec::<String>::new());
    let report = import(&store, "(;PB[a]C ;B[ee(;PB[b];B[aa]W[", how("tromp_taylor"));
    assert_eq!(report.unread.len(), 1);
    assert!(report.unread[0].starts_with("test.sgf, line 1"), "{}", report.unread[0]);
}
