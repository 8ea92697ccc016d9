//! `tengen serve`: shows runs in the browser.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::ensure;

use tengen_evaluator::ModelSource;
use tengen_model::ModelId;
use tengen_rules::Rules;
use tengen_serve::{Analyst, DEFAULT_PORT, Runs, SearchAnalyst, Server};
use tengen_store::Store;

use crate::arguments;
use crate::device::DeviceArgs;
use crate::interrupt::Interrupt;
use crate::output::{result, say};
use crate::players::Loader;

/// Watch a run in the browser, look at its games, and play against its champion
///
/// Serves the page of tengen report, which updates itself while the run goes on; all games, to click through with what
/// the search thought of them; and a board to play against the champion, with its analysis. Several stores, or a folder
/// of runs, are also shown side by side, on common axes. Runs do not notice it, and pages load nothing from
/// elsewhere.
///
/// Only this machine can open the pages, unless --listen names another address. To reach a run on another machine,
/// forward the port: ssh -L 8181:127.0.0.1:8181 HOST. Ctrl-C ends it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen serve --store data/runs/demo
  tengen serve --store data/runs/a --store data/runs/b --listen 127.0.0.1:0
  tengen serve --store data/sweeps/visits
  tengen serve --store s3://bucket/nine")]
pub(crate) struct Args {
    /// A store, or a folder of stores; repeat it for several
    #[arg(long, value_name = "DIR|URL", required = true)]
    store: Vec<String>,
    /// The address to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)))]
    listen: SocketAddr,
    /// Leaves of the tree that the network evaluates in one call; 1 is the strongest for its visits, 8 is faster
    #[arg(long, value_name = "N", default_value_t = arguments::USUAL_LEAVES, value_parser = arguments::leaves)]
    leaves: usize,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Serves until a signal arrives, which is the normal end of this command.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let loader = Loader::new(&args.device, Rules::default())?;
    let runs = Runs::open(&args.store)?;
    let interrupt = Interrupt::listen("Stopping the server…")?;
    let load = Box::new(move |store: &Store, model: &ModelId| analyst(&loader, store, model, args.leaves));
    let server = Server::bind(runs, args.listen, load)?;
    if !server.is_private() {
        let address = server.address();
        say(format!(
            "warning: {address} can be reached from other machines, and whoever reaches it sees these runs and uses \
             this machine to play; there is no password"
        ));
    }
    result(format!("http://{}/", server.address()));
    server.run(&interrupt.flag())
}

/// An analyst with a model of a store.
fn analyst(loader: &Loader, store: &Store, model: &ModelId, leaves: usize) -> anyhow::Result<Box<dyn Analyst>> {
    let source = ModelSource::Store {
        location: store.location().to_owned(),
        generation: Some(model.generation()),
    };
    let (loaded, _) = loader.model_and_training(&source)?;
    ensure!(
        loaded.name == model.to_string(),
        "generation {} is {} here",
        model.generation(),
        loaded.name
    );
    Ok(Box::new(SearchAnalyst::new(loaded.predictor, leaves)))
}
