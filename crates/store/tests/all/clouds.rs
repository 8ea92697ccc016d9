//! Stores over the protocols of S3, Google Cloud Storage and Azure, served by local processes. `scripts/test-clouds`
//! starts them and runs this file once for each.
#![cfg(feature = "cloud")]

use tengen_store::{
    Collection, CompactSettings, Create, GamesOf, MatchFile, Promotion, Put, RunInfo, Store, StoreError,
};
use tengen_testing::{random_games, random_model};

/// The URL of a bucket, such as `s3://bucket`; credentials and endpoint are in the environment.
fn bucket() -> String {
    std::env::var("TENGEN_CLOUD_TEST").expect("scripts/test-clouds sets TENGEN_CLOUD_TEST")
}

fn address(name: &str) -> String {
    format!("{}/library/{name}", bucket())
}

fn selfplay(generation: u32) -> Collection {
    Collection::SelfPlay { generation }
}

#[test]
#[ignore = "needs a server: scripts/test-clouds"]
fn a_cloud_store_works_like_a_local_one() {
    let location = address("store");
    assert!(matches!(
        Store::open(&location, Create::Never),
        Err(StoreError::NotAStore { .. })
    ));
    let store = Store::open(&location, Create::Always).unwrap();
    let run = RunInfo::new("r", 0, "tromp_taylor", vec!["3x3".to_owned()], serde_json::Value::Null);
    assert_eq!(store.put_run_info(&run).unwrap(), Put::Created);
    assert_eq!(store.put_run_info(&run).unwrap(), Put::Exists);
    let games = random_games(3, 12);
    for (number, part) in games.chunks(2).enumerate() {
        store
            .games()
            .publish_games(&selfplay(number as u32 / 3), "w", number as u64, part)
            .unwrap();
    }
    let again = Store::open(&location, Create::Never).unwrap();
    let before = again.games().list(&GamesOf::SelfPlay).unwrap();
    assert_eq!((before.shards.len(), before.published().games), (6, 12));
    let read: Vec<_> = before
        .shards
        .iter()
        .flat_map(|shard| again.games().read(shard).unwrap())
        .collect();
    assert_eq!(read, games);

    let model = store.models().publish(1, &random_model(1)).unwrap();
    let promotion = Promotion::now(&model, None, serde_json::Value::Null);
    assert_eq!(store.models().promote(0, &promotion).unwrap(), Put::Created);
    assert_eq!(again.models().champion().unwrap().unwrap().1.model_id, model);
    store.matches().put("m", MatchFile::Result, "{}").unwrap();
    store
        .checkpoints()
        .put(5, &[("a".to_owned(), "b".into())].into())
        .unwrap();
    assert_eq!(again.checkpoints().latest().unwrap().unwrap().0, 5);

    let settings = CompactSettings {
        keep_positions: 0,
        target_bytes: 1 << 20,
    };
    assert_eq!(store.games().compact(settings, |_, _| {}).unwrap().replaced.shards, 3);
    assert_eq!(again.games().read(&before.shards[1]).unwrap(), games[2..4]);
    store.games().prune(&store.games().plan_prune(1).unwrap()).unwrap();
    let after = again.games().list(&GamesOf::SelfPlay).unwrap();
    assert_eq!((after.shards.len(), after.published()), (3, after.published()));
    assert_eq!(after.published().games, 12);
    let report = again.verify(|_, _| {}).unwrap();
    assert!(report.is_sound() && report.strangers.is_empty(), "{report:?}");
    assert_eq!(
        (report.models, report.promotions, report.matches, report.checkpoints),
        (1, 1, 1, 1)
    );
}

#[test]
#[ignore = "needs a server: scripts/test-clouds"]
fn exactly_one_of_many_cloud_writers_wins() {
    let stores: Vec<Store> = (0..4)
        .map(|_| Store::open(&address("race"), Create::Always).unwrap())
        .collect();
    for round in 0..10 {
        let path = format!("promotions/{round:06}.json");
        let put = |number: usize| {
            stores[number]
                .files()
                .put_new(&path, format!("writer {number}"))
                .unwrap()
        };
        let puts: Vec<Put> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4).map(|number| scope.spawn(move || put(number))).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..4).filter(|&number| puts[number] == Put::Created).collect();
        assert_eq!(winners.len(), 1, "{puts:?}");
        assert_eq!(
            stores[0].files().get(&path).unwrap().unwrap(),
            format!("writer {}", winners[0])
        );
    }
}

#[test]
#[ignore = "needs a server: scripts/test-clouds"]
fn long_listings_are_complete() {
    let store = Store::open(&address("many"), Create::Always).unwrap();
    // Servers return at most 1,000 (Azure: 5,000) names at a time.
    let names: Vec<String> = (0..1_003).map(|number| format!("metrics/{number:04}")).collect();
    std::thread::scope(|scope| {
        for part in names.chunks(256) {
            let store = &store;
            scope.spawn(move || {
                for name in part {
                    store.files().put_new(name, "x").unwrap();
                }
            });
        }
    });
    let listed = store.files().list("metrics").unwrap();
    assert!(
        listed.iter().map(|(name, _)| name).eq(&names),
        "{} listed",
        listed.len()
    );
}

#[test]
#[ignore = "needs a server: scripts/test-clouds"]
fn a_missing_bucket_is_reported() {
    let location = format!("{}-that-nobody-made/x", bucket());
    let error = Store::open(&location, Create::Never).unwrap_err();
    let message = error.to_string();
    assert!(
        message.replace("%2D", "-").contains("that-nobody-made") || matches!(error, StoreError::NotAStore { .. }),
        "{message}"
    );
    let error = Store::open(&location, Create::Always)
        .and_then(|store| store.files().put_new("x", "x").map(drop))
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Write { .. } | StoreError::Read { .. }),
        "{error}"
    );
}
