//! Claims in the files of imported games: exports show them next to the counted results, never in their place.

use std::fs;
use std::path::Path;

use crate::exports::{export, options, rows};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use tengen_datasets::{Dataset, FileFormat, What};
use tengen_import::{ImportRules, Importer, MissingTurns, SgfSource};
use tengen_records::GameKind;
use tengen_sgf::read_sgf;
use tengen_store::{Collection, Create, GamesOf, Store};
use tengen_testing::random_games;

/// A store with imported games and games of our own.
fn store_with_claims(folder: &Path) -> Store {
    let store = Store::open(folder.join("store").to_str().unwrap(), Create::Always).unwrap();
    let collection = Collection::SelfPlay { generation: 1 };
    store
        .games()
        .publish_games(&collection, "test", 0, &random_games(5, 2))
        .unwrap();
    let text = "(;SZ[5]KM[0.5]RE[W+3.5]PB[A]PW[B]BR[9d]DT[1998-11-05]EV[Cup]RU[Japanese]HA[0];B[cc];W[];B[])
        (;SZ[5]KM[6,5]RE[B+R];B[cc])(;SZ[5]RE[B+1];B[cc])";
    let how = ImportRules {
        rules: "tromp_taylor".parse().unwrap(),
        komi: None,
        missing_turns: MissingTurns::Refuse,
    };
    let mut importer = Importer::new(Some(&store), "sgf", how).unwrap();
    let source = SgfSource {
        name: "old.sgf".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    importer.take(&source, |_| true).unwrap();
    assert_eq!(importer.finish().unwrap().kept, 3);
    store
}

/// The values of a text or number column in every row.
fn column(dataset: &Dataset, name: &str) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for batch in rows(dataset) {
        let array = batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
        found.extend((0..batch.num_rows()).map(|row| {
            let known = arrow_array::Array::is_valid(array, row);
            known.then(|| match array.as_string_opt::<i32>() {
                Some(texts) => texts.value(row).to_owned(),
                None => array.as_primitive::<Int32Type>().value(row).to_string(),
            })
        }));
    }
    found
}

#[test]
fn exports_show_claims_next_to_counted_results() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_claims(folder.path());
    let with_imports = |what, format, games| {
        let mut options = options(what, format);
        options.filter.games = games;
        options
    };
    let out = |name: &str| folder.path().join(name);
    let imported = with_imports(What::Games, FileFormat::Parquet, GamesOf::Imported);
    let dataset = export(&store, &out("games"), &imported).unwrap();
    for (name, expected) in [
        ("source_file", [Some("old.sgf"); 3]),
        ("source_game", [Some("1"), Some("2"), Some("3")]),
        (
            "claim_check",
            [Some("other_winner"), Some("resignation"), Some("unfinished")],
        ),
        ("claimed_result", [Some("W+3.5"), Some("B+R"), Some("B+1")]),
        ("claimed_komi", [Some("0.5"), Some("6,5"), None]),
        ("claimed_rules", [Some("Japanese"), None, None]),
        ("claimed_handicap", [Some("0"), None, None]),
        ("played_on", [Some("1998-11-05"), None, None]),
        ("event", [Some("Cup"), None, None]),
        ("black_rank", [Some("9d"), None, None]),
        ("white_rank", [None; 3]),
    ] {
        assert_eq!(
            column(&dataset, name),
            expected.map(|word| word.map(str::to_owned)),
            "{name}"
        );
    }
    let readme = fs::read_to_string(dataset.folder.join("README.md")).unwrap();
    assert!(readme.contains("## Claims of imported games") && readme.contains("| `claimed_result` |"));

    // Positions carry them too. They are null for games of our own, and absent if no imported games can be included.
    let all = with_imports(What::Positions, FileFormat::Parquet, GamesOf::All);
    let checks = column(&export(&store, &out("positions"), &all).unwrap(), "claim_check");
    let ours: usize = random_games(5, 2).iter().map(|game| game.plies.len()).sum();
    assert_eq!(checks.iter().filter(|check| check.is_none()).count(), ours);
    assert_eq!(
        checks.iter().flatten().filter(|check| *check == "other_winner").count(),
        3
    );
    let own = export(&store, &out("own"), &options(What::Games, FileFormat::Parquet)).unwrap();
    assert!(rows(&own)[0].column_by_name("claim_check").is_none());

    let sgf = with_imports(What::Games, FileFormat::Sgf, GamesOf::Imported);
    let dataset = export(&store, &out("sgf"), &sgf).unwrap();
    let text = fs::read_to_string(dataset.folder.join(&dataset.manifest.files[0].path)).unwrap();
    let games: Vec<_> = read_sgf(&text).unwrap();
    let results: Vec<_> = games.iter().map(|game| game.result.as_deref()).collect();
    assert_eq!(
        results,
        [Some("B+24.5"), Some("B+R"), Some("Void")],
        "the result under the rules"
    );
    assert!(
        text.contains(
            "GC[Imported from old.sgf, game 1. Its file claims: result W+3.5, komi 0.5, rules Japanese, handicap 0. \
             Claimed result against the rules: other_winner.]"
        ),
        "{text}"
    );
    assert!(text.contains("BR[9d]") && text.contains("EV[Cup]") && text.contains("DT[1998-11-05]"));
    let readme = fs::read_to_string(dataset.folder.join("README.md")).unwrap();
    assert!(readme.contains("that only the file claims"));
}

#[test]
fn positions_show_the_owners_that_a_teacher_expects() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_claims(folder.path());
    let mut game = random_games(3, 1).remove(0);
    game.game_id = "label-1".to_owned();
    game.kind = GameKind::Import;
    game.origin = Some(Box::default());
    game.origin.as_mut().unwrap().game = 9;
    let map: Vec<i8> = (0..game.size.area() as i8).map(|point| point - 4).collect();
    game.plies[1].expected_ownership.clone_from(&map);
    let collection = Collection::Import {
        name: "labels".to_owned(),
    };
    store
        .games()
        .publish_games(&collection, "test", 0, &[game.clone()])
        .unwrap();
    let maps = |dataset: &Dataset| {
        let mut maps = Vec::new();
        for batch in rows(dataset) {
            let column = batch.column_by_name("expected_ownership").unwrap().as_list::<i32>();
            maps.extend(
                column
                    .iter()
                    .flatten()
                    .map(|map| map.as_primitive::<Int8Type>().values().to_vec()),
            );
        }
        maps
    };
    for (name, games) in [("imported", GamesOf::Imported), ("all", GamesOf::All)] {
        let mut options = options(What::Positions, FileFormat::Parquet);
        options.filter.games = games;
        let dataset = export(&store, &folder.path().join(name), &options).unwrap();
        assert_eq!(maps(&dataset), [map.as_slice()], "every other position has none");
        let readme = fs::read_to_string(dataset.folder.join("README.md")).unwrap();
        assert!(readme.contains("## Expected owners") && readme.contains("| `expected_ownership` |"));
    }
    // Games of self-play are never labelled.
    let own = options(What::Positions, FileFormat::Parquet);
    let own = export(&store, &folder.path().join("own"), &own).unwrap();
    assert!(rows(&own)[0].column_by_name("expected_ownership").is_none());
    let readme = fs::read_to_string(own.folder.join("README.md")).unwrap();
    assert!(!readme.contains("Expected owners"));
}
