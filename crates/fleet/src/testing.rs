//! A run for tests.

use std::path::Path;

use tengen_run::{Opened, RunConfig, Setup};

/// A run on 5x5 with a tiny network, in a folder.
pub(crate) fn run(folder: &Path) -> Opened {
    let (config, location) = config(folder);
    let run = Opened::open(&config, &location, &setup(folder)).expect("opens");
    run.first_model().expect("a champion");
    run
}

/// The configuration and the location of that run.
pub(crate) fn config(folder: &Path) -> (RunConfig, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/5x5.toml");
    let settings = [
        "network.blocks=1",
        "network.channels=8",
        "network.nested_blocks=false",
        "loop.look_seconds=0.01",
    ];
    let config = RunConfig::load(&path, &settings.map(str::to_owned)).expect("loads");
    (config, folder.join("store").display().to_string())
}

/// The setup of that run, with a scratch folder for what is not in its store.
pub(crate) fn setup(folder: &Path) -> Setup {
    Setup {
        scratch: Some(folder.join("scratch")),
        ..Setup::default()
    }
}
