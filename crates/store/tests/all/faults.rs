//! A store that fails temporarily and then recovers, possibly after it has written: nothing is lost or duplicated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::faulty::faulty_store;
use object_store::memory::InMemory;
use tempfile::TempDir;

use tengen_store::{
    Collection, CompactSettings, GamesOf, Patience, Promotion, Put, SealedShard, Spool, SpoolReport, Store, StoreError,
};
use tengen_testing::{random_games, random_model};

fn patience(limit: Duration) -> Patience {
    Patience {
        limit,
        give_up: Arc::new(AtomicBool::new(false)),
    }
}

const GENERATION: Collection = Collection::SelfPlay { generation: 3 };

fn shard(number: u64) -> SealedShard {
    SealedShard::new(
        &GENERATION,
        "w",
        number,
        &random_games(2, 8)[number as usize..=number as usize],
    )
    .unwrap()
}

#[test]
fn patient_calls_outlast_temporary_failures() {
    let (store, faults) = faulty_store();
    let patient = store.with_patience(patience(Duration::from_secs(20)));
    for after_writing in [false, true] {
        let number = u64::from(after_writing);
        faults.plan(0, 2, after_writing);
        patient.games().publish(&shard(number)).unwrap();
        assert_eq!(faults.bad.load(Ordering::SeqCst), 0, "the call was retried");
        assert_eq!(
            store.games().list_shards(&GamesOf::All).unwrap().len() as u64,
            number + 1
        );
        // For a put that must be new, the writer gets `Created` even though the first reply was lost.
        faults.plan(0, 1, after_writing);
        let path = format!("once-{after_writing}");
        assert_eq!(patient.files().put_new(&path, "mine").unwrap(), Put::Created);
        assert_eq!(patient.files().put_new(&path, "theirs").unwrap(), Put::Exists);
        faults.plan(0, 1, false);
        assert_eq!(patient.files().get(&path).unwrap().unwrap(), "mine");
    }
}

#[test]
fn a_retried_promotion_reports_created() {
    let (store, faults) = faulty_store();
    let model = store.models().publish(1, &random_model(1)).unwrap();
    let promotion = Promotion::now(&model, None, serde_json::Value::Null);
    faults.plan(1, 1, true);
    store.models().promote(0, &promotion).unwrap_err();
    assert_eq!(store.models().promote(0, &promotion).unwrap(), Put::Created);
    let other = Promotion {
        promoted_ms: 8,
        ..promotion
    };
    assert_eq!(store.models().promote(0, &other).unwrap(), Put::Exists);
}

#[test]
fn patience_runs_out_and_can_be_canceled() {
    let (store, faults) = faulty_store();
    faults.plan(0, u64::MAX, false);
    let error = store.files().get("x").unwrap_err();
    assert!(error.may_pass() && error.to_string().contains("was lost"), "{error}");
    assert!(
        store
            .with_patience(patience(Duration::from_millis(200)))
            .files()
            .get("x")
            .unwrap_err()
            .may_pass()
    );
    let called_off = patience(Duration::from_secs(600));
    called_off.give_up.store(true, Ordering::SeqCst);
    store.with_patience(called_off).files().get("x").unwrap_err();
}

#[test]
fn a_waiting_call_is_visible_until_it_finishes() {
    let (store, faults) = faulty_store();
    store.files().put_new("x", "here").unwrap();
    faults.plan(0, u64::MAX, false);
    store.files().get("x").unwrap_err();
    assert_eq!(store.waited_for(), None, "no call is waiting");
    let patient = store.with_patience(patience(Duration::from_secs(60)));
    let call = std::thread::spawn(move || patient.files().get("x").unwrap());
    while store.waited_for().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    faults.plan(0, 0, false);
    assert_eq!(call.join().unwrap().unwrap(), "here");
    assert_eq!(store.waited_for(), None);
}

#[test]
fn permanent_failures_are_not_retried() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), tengen_store::Create::Always).unwrap();
    let patient = store.with_patience(patience(Duration::from_secs(600)));
    patient
        .files()
        .put_new("models", "a file in place of a folder")
        .unwrap();
    let error = patient.files().put_new("models/x", "y").unwrap_err();
    assert!(matches!(error, StoreError::Write { may_pass: false, .. }), "{error}");
}

#[test]
fn a_folder_that_disappeared_is_not_an_empty_store() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("store");
    let store = Store::open(place.to_str().unwrap(), tengen_store::Create::Always).unwrap();
    let run = tengen_store::RunInfo::new("r", 0, "tromp_taylor", Vec::new(), serde_json::Value::Null);
    store.put_run_info(&run).unwrap();
    store.games().publish(&shard(0)).unwrap();
    std::fs::rename(&place, folder.path().join("away")).unwrap();
    // The empty mount point of a disk.
    std::fs::create_dir(&place).unwrap();
    for error in [
        store.games().list_shards(&GamesOf::All).unwrap_err(),
        store.games().publish(&shard(1)).unwrap_err(),
        store.files().get("games").unwrap_err(),
    ] {
        assert!(
            error.may_pass() && error.to_string().contains("is unavailable"),
            "{error}"
        );
    }
    assert_eq!(
        std::fs::read_dir(&place).unwrap().count(),
        0,
        "nothing is written there"
    );
    std::fs::remove_dir(&place).unwrap();
    std::fs::rename(folder.path().join("away"), &place).unwrap();
    assert_eq!(store.games().list_shards(&GamesOf::All).unwrap().len(), 1);
}

#[test]
fn a_spool_keeps_shards_in_order_within_its_limit() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("spool");
    let (store, faults) = faulty_store();
    let shards: Vec<SealedShard> = (0..5).map(shard).collect();
    let room: u64 = shards[..4].iter().map(|shard| shard.info.bytes).sum();
    let spool = Spool::open(&place, &store, room).unwrap();
    for shard in &shards[..4] {
        assert!(spool.take(shard).unwrap());
    }
    assert!(!spool.take(&shards[4]).unwrap(), "it is full");

    // The second shard is written, but the reply is lost; then the store stays unavailable.
    faults.plan(1, u64::MAX, true);
    let (report, result) = spool.publish(&store);
    assert!(result.unwrap_err().may_pass());
    assert_eq!(report.published, [shards[0].info.clone()]);

    // Another process finds the remaining shards in the folder.
    faults.plan(0, 0, false);
    let later = Spool::open(&place, &store, room).unwrap();
    let (report, result) = later.publish(&store);
    result.unwrap();
    let published: Vec<_> = report.published.iter().map(|info| info.name.sequence).collect();
    assert_eq!(published, [1, 2, 3]);
    assert!(later.waiting().unwrap().is_empty());
    let listed = store.games().list(&GamesOf::All).unwrap();
    assert_eq!(
        (listed.shards.len(), listed.published().games),
        (4, 4),
        "none is lost or duplicated"
    );

    let (other, _) = faulty_store();
    assert!(Spool::open(&place, &Store::over(Arc::new(InMemory::new()), "other").unwrap(), 1).is_err());
    assert!(Spool::open(&place, &other, 1).is_ok(), "the same location");
}

#[test]
fn a_damaged_file_in_the_spool_does_not_block_others() {
    let folder = TempDir::new().unwrap();
    let (store, _) = faulty_store();
    let spool = Spool::open(folder.path(), &store, u64::MAX).unwrap();
    let (first, second) = (shard(0), shard(1));
    spool.take(&first).unwrap();
    spool.take(&second).unwrap();
    std::fs::write(folder.path().join(&first.info.path), "damaged").unwrap();
    let (report, result) = spool.publish(&store);
    result.unwrap();
    assert_eq!((report.published, report.damaged.len()), (vec![second.info], 1));
    // It is named once and kept, but no longer waits.
    assert!(spool.waiting().unwrap().is_empty());
    let kept = folder.path().join(format!("{}.damaged", first.info.path));
    assert_eq!(std::fs::read(kept).unwrap(), b"damaged");
    let (report, result) = spool.publish(&store);
    result.unwrap();
    assert_eq!(report, SpoolReport::default());
}

#[test]
fn a_full_disk_beside_the_store_is_waited_for() {
    let (store, _) = faulty_store();
    let full = |left: &mut u32| match left.checked_sub(1) {
        None => Ok(7),
        Some(fewer) => {
            *left = fewer;
            Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
        }
    };
    let (mut once, mut twice) = (1, 2);
    let error = store.files().wait_for_space(|| full(&mut once)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let patient = store.with_patience(patience(Duration::from_secs(60)));
    assert_eq!(patient.files().wait_for_space(|| full(&mut twice)).unwrap(), 7);
    // Nothing else is waited for.
    let mut calls = 0;
    let denied = patient.files().wait_for_space(|| {
        calls += 1;
        Err::<(), _>(std::io::Error::from(std::io::ErrorKind::PermissionDenied))
    });
    assert!(denied.is_err() && calls == 1);
}

/// A merge and a prune interrupted at every single call, before or after it took effect, and then repeated.
#[test]
fn upkeep_interrupted_at_any_call_loses_and_duplicates_nothing() {
    let settings = CompactSettings {
        keep_positions: 0,
        target_bytes: 1 << 20,
    };
    let games = random_games(2, 12);
    let work = |store: &Store| -> Result<(), StoreError> {
        store.games().compact(settings, |_, _| {})?;
        let plan = store.games().plan_prune(1_000)?;
        let first = plan.generations.len();
        assert_eq!(first, 0);
        store.games().prune(&store.games().plan_prune(60)?)
    };
    let check = |store: &Store| {
        let listing = store.games().list(&GamesOf::SelfPlay).unwrap();
        let read: usize = listing
            .shards
            .iter()
            .map(|shard| store.games().read(shard).unwrap().len())
            .sum();
        assert_eq!(read as u64 + listing.pruned.games, games.len() as u64);
        assert_eq!(listing.published().games, games.len() as u64);
        listing
    };
    for after_writing in [false, true] {
        for call in 0.. {
            let (store, faults) = faulty_store();
            for (number, game) in games.iter().enumerate() {
                let collection = Collection::SelfPlay {
                    generation: number as u32 / 4,
                };
                store
                    .games()
                    .publish_games(&collection, "w", number as u64, std::slice::from_ref(game))
                    .unwrap();
            }
            faults.plan(call, 1, after_writing);
            let broke = work(&store);
            let struck = faults.bad.load(Ordering::SeqCst) == 0;
            faults.plan(0, 0, false);
            check(&store);
            work(&store).unwrap();
            assert!(check(&store).shards.len() < games.len());
            if !struck {
                broke.unwrap();
                assert!(call > 20, "only {call} calls could be interrupted");
                break;
            }
        }
    }
}
