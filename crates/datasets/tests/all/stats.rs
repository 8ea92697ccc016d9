//! Statistics over many games match a manual count and do not depend on the number of threads.

use tempfile::TempDir;

use tengen_datasets::DatasetFilter;
use tengen_records::{GameRecord, TreeShape};
use tengen_rules::{Move, Size};
use tengen_store::{Collection, Create, Store};
use tengen_testing::random_games;

/// A store with many small shards on two board sizes, and all its games.
fn store(folder: &TempDir) -> (Store, Vec<GameRecord>) {
    let store = Store::open(folder.path().to_str().unwrap(), Create::Always).unwrap();
    let mut games = random_games(3, 40);
    games.extend(random_games(4, 40));
    for (number, part) in games.chunks(5).enumerate() {
        let generation = number as u32 / 4;
        store
            .games()
            .publish_games(&Collection::SelfPlay { generation }, "w", number as u64, part)
            .unwrap();
    }
    (store, games)
}

#[test]
fn statistics_match_a_manual_count() {
    let folder = TempDir::new().unwrap();
    let (store, games) = store(&folder);
    let stats = tengen_datasets::stats(&store, &DatasetFilter::default(), TreeShape::default(), |_, _| ()).unwrap();
    let all = &stats.games;
    assert_eq!((stats.shards, all.games), (16, 80));
    let mut plies: Vec<usize> = games.iter().map(|game| game.plies.len()).collect();
    plies.sort_unstable();
    assert_eq!(all.positions, plies.iter().sum::<usize>() as u64);
    assert_eq!(
        (all.plies.min, all.plies.median, all.plies.max),
        (plies[0], plies[39], plies[79])
    );
    let finished = games.iter().filter(|game| game.is_finished()).count();
    assert_eq!(all.end_reasons["two_passes"], finished as u64);
    assert_eq!(all.unfinished_share, (80 - finished) as f64 / 80.0);
    let (mut suicides, mut bans) = (0, 0);
    for game in &games {
        let mut position = game.start().unwrap();
        for ply in &game.plies {
            bans += position.superko_banned().len() as u64;
            position.play(ply.mv);
            if let Move::Play(point) = ply.mv {
                suicides += u64::from(position.at(point).is_none());
            }
        }
    }
    assert!(suicides > 0 && bans > 0, "random games on small boards must have both");
    assert_eq!((all.suicides, all.superko_bans), (suicides, bans));
    let played: u64 = all.generations.iter().map(|generation| generation.games).sum();
    assert_eq!((all.generations.len(), played), (4, 80));
    let scored: u64 = all.komis.values().map(|komi| komi.scored).sum();
    assert_eq!(scored, finished as u64);
    assert_eq!(all.openings["3x3"].games + all.openings["4x4"].games, 80);
    assert!(all.entropy_by_ply.iter().map(|entropy| entropy.targets).sum::<u64>() == all.policy_targets);

    let size = Size::square(3).unwrap();
    let only = DatasetFilter {
        sizes: vec![size],
        generations: Some((1, 2)),
        ..DatasetFilter::default()
    };
    let part = tengen_datasets::stats(&store, &only, TreeShape::default(), |_, _| ()).unwrap();
    assert_eq!((part.shards, part.games.games), (8, 20));
    assert_eq!(part.games.sizes.keys().collect::<Vec<_>>(), ["3x3"]);
}

#[test]
fn statistics_do_not_depend_on_the_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let (store, _) = store(&folder);
    let stats = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            tengen_datasets::stats(&store, &DatasetFilter::default(), TreeShape::default(), |_, _| ()).unwrap()
        })
    };
    assert_eq!(stats(1), stats(5));
}
