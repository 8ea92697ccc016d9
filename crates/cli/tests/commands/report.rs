//! Runs `tengen report` on several stores.

use std::path::Path;

use serde_json::json;

use tengen_store::{Create, RunInfo, Store};

use crate::common::tengen;

/// An empty store of a run with this batch size.
fn store(folder: &Path, name: &str, batch: u32) -> String {
    let location = folder.join(name).display().to_string();
    let store = Store::open(&location, Create::Always).unwrap();
    let config = json!({"training": {"batch": batch}});
    let run = RunInfo::new(name, 0, "tromp_taylor", vec!["5x5".to_owned()], config);
    store.put_run_info(&run).unwrap();
    location
}

#[test]
fn several_stores_are_compared_on_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (store(folder.path(), "first", 64), store(folder.path(), "second", 96));
    let page = folder.path().join("compared.html").display().to_string();
    tengen(&["report", "--store", &a, "--store", &b]).refuses(2, "name it with --out");
    let done = tengen(&["report", "--store", &a, "--store", &b, "--out", &page, "--json"]).json();
    assert_eq!(done, json!({"path": page, "runs": [a, b]}));
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["training.batch", "64", "96", &a, &b] {
        assert!(html.contains(part), "{part} is on the page");
    }
    let nowhere = folder.path().join("nowhere").display().to_string();
    tengen(&["report", "--store", &a, "--store", &nowhere, "--out", &page]).refuses(1, &nowhere);
}
