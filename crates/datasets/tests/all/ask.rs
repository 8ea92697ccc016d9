//! Queries everything in a store in which one file has arbitrary contents.

use std::sync::Arc;

use object_store::memory::InMemory;

use tengen_datasets::{DatasetFilter, ExportOptions, FileFormat, What, export_kept};
use tengen_store::{CompactSettings, GamesOf, MatchFile, Store};

/// Files that are read as text.
pub(crate) const FILES: [&str; 12] = [
    "run.json",
    "models/g000001-0123456789ab/model.json",
    "promotions/000001.json",
    "checkpoints/000000000005/checkpoint.json",
    "changes/000001.json",
    "quarantine/1790000000123-w-0-4g-40p-0123456789abcdef.json",
    "datasets/d/v1/MANIFEST.json",
    "matches/m/result.json",
    "in_flight.json",
    "configs/0123456789ab.toml",
    "summaries/000000005-g000001-0123456789ab.json",
    "games/v1/kind=selfplay/gen=g000001/1790000000123-w-0-4g-40p-0123456789abcdef.parquet",
];

/// Writes the bytes to one of [`FILES`] and queries everything in the store.
pub(crate) fn ask_everything(number: usize, bytes: &[u8]) {
    let store = Store::over(Arc::new(InMemory::new()), "memory").expect("the runtime can be created");
    store
        .files()
        .put_new(FILES[number % FILES.len()], bytes.to_vec())
        .expect("an in-memory store is writable");
    let _ = (
        store.run_info(),
        store.models().list(),
        store.models().promotions(),
        store.models().champion(),
    );
    let id = "g000001-0123456789ab".parse().expect("a model id");
    let _ = (store.models().info(&id), store.models().load(&id));
    let _ = (
        store.checkpoints().list(),
        store.checkpoints().latest(),
        store.checkpoints().load(5),
    );
    let _ = (
        store.games().quarantine_notes(),
        store.matches().list(),
        store.matches().get("m", MatchFile::Result),
    );
    if let Ok(listing) = store.games().list(&GamesOf::All) {
        let _ = listing.published();
        for shard in &listing.shards {
            let _ = (store.games().ids(shard), store.games().read(shard));
        }
    }
    let settings = CompactSettings {
        keep_positions: 0,
        target_bytes: 1 << 20,
    };
    let _ = store.verify(|_, _| {});
    let _ = store.games().plan_prune(1).map(|plan| store.games().prune(&plan));
    let _ = store.games().compact(settings, |_, _| {});
    let options = ExportOptions {
        what: What::Games,
        format: FileFormat::Sgf,
        filter: DatasetFilter::default(),
        count: None,
        split: None,
        distinct: false,
        rows_per_part: None,
    };
    let _ = export_kept(&store, "d", &options, &mut |_| true);
}
