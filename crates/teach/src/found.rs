//! How does a run begin with another model? Its first model is that model, a larger network grown from it, or, if the
//! shapes allow neither, a fresh network that has caught up on games.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Context, bail};

use tengen_model::{CostLedger, Model, Provenance};
use tengen_run::{Opened, RunConfig, Setup};
use tengen_samples::{GamesFrom, OfGames, OwnershipFrom, PolicyFrom, ValueFrom};
use tengen_store::{Create, Promotion, Store, StoreError, sha256_hex};

use crate::material::{Material, Reach};
use crate::place::Place;
use crate::start::Origin;
use crate::teach::{Step, teach_from};

/// Makes a model, or a network with its knowledge, the first model of a run that has none. Does nothing if the run
/// began with it before, so that the same command resumes the run. Returns false if `setup.stop` was set meanwhile.
///
/// A network of another shape than the model's grows from it if it has more blocks, channels, or inputs and is
/// otherwise alike. Otherwise a fresh network catches up: on the games of `[[train.from]]` or, without any, on the
/// window of the store that the model comes from.
///
/// # Errors
/// If the run began with something else, or the model is of another shape and there are no games to catch up on.
/// Nothing is left at `location` then.
pub fn found(
    config: &RunConfig,
    location: &str,
    origin: &Origin,
    setup: &Setup,
    show: &mut dyn FnMut(Step),
) -> anyhow::Result<bool> {
    if has_begun(location, origin)? {
        return Ok(true);
    }
    let work = work_folder(location, origin, config, setup)?;
    let model = match origin.weights(config, &*setup.watch)? {
        Some(weights) => {
            let mut model = Model::new(weights);
            model.info.fair_komi_half_points = origin.model.info.fair_komi_half_points.clone();
            model
        }
        None => match catch_up(config, &work, origin, setup, show)? {
            Some(model) => model,
            None => return Ok(false),
        },
    };
    publish(config, location, origin, setup, model)?;
    if work.exists() {
        std::fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    }
    Ok(true)
}

/// Whether the run at a location has its first model already, made from this one.
fn has_begun(location: &str, origin: &Origin) -> anyhow::Result<bool> {
    let store = match Store::open(location, Create::Never) {
        Ok(store) => store,
        Err(StoreError::Missing { .. } | StoreError::NotAStore { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let Some(first) = store.models().list()?.into_iter().next() else {
        return Ok(false);
    };
    match store.models().info(&first)?.provenance.parent {
        Some(parent) if parent == origin.name => Ok(true),
        parent => bail!(
            "the run in {location} began with {}, not with {}: leave out --init to go on with it, or choose another \
             --store",
            parent.unwrap_or_else(|| "random weights".to_owned()),
            origin.name
        ),
    }
}

/// This machine's folder for the network that catches up, separate for each start.
fn work_folder(location: &str, origin: &Origin, config: &RunConfig, setup: &Setup) -> anyhow::Result<PathBuf> {
    let base = setup.scratch.clone();
    let base = base.unwrap_or_else(|| tengen_store::scratch_folder(location));
    let what = format!("{location}\n{}\n{}", origin.name, toml::to_string(&config.network)?);
    Ok(base.join(format!("init-{}", &sha256_hex(what.as_bytes())[..12])))
}

/// Trains a fresh network on games until it has caught up; `None` if the user stops it.
fn catch_up(
    config: &RunConfig,
    work: &std::path::Path,
    origin: &Origin,
    setup: &Setup,
    show: &mut dyn FnMut(Step),
) -> anyhow::Result<Option<Model>> {
    let shapes = format!(
        "{} is {}, which cannot grow into {}",
        origin.name,
        origin.model.weights.config().name(),
        config.network.name()
    );
    let own = origin.store.as_ref().map(|store| GamesFrom {
        store: store.clone(),
        of: OfGames::Selfplay,
        newest: 0,
        share: 1.0,
        policy: PolicyFrom::Labels,
        value: ValueFrom::Mixed,
        ownership: OwnershipFrom::Counted,
    });
    let (from, reach) = match (config.train.from.is_empty(), own) {
        (false, _) => (config.train.from.clone(), Reach::Stated),
        (true, Some(own)) => (vec![own], Reach::Window(config.window)),
        (true, None) => bail!(
            "{shapes}, and there are no games for a fresh network to learn from: name some in [[train.from]], give \
             the model as store:DIR, or set [network] to fit it"
        ),
    };
    setup
        .watch
        .say(&format!("{shapes}: a fresh network catches up on games first"));
    let material = Material::of(config, &from, reach, &*setup.watch)?;
    let place = Place::find(work)?;
    let taught = teach_from(config, None, (work, place), &material, setup, show)?;
    if taught.model.is_none() || setup.stop.load(Ordering::SeqCst) {
        return Ok(None);
    }
    setup.watch.say(&taught.in_words());
    Ok(Some(Model::load(work)?))
}

/// Starts the run with a model as its first one and its champion.
fn publish(config: &RunConfig, location: &str, origin: &Origin, setup: &Setup, mut model: Model) -> anyhow::Result<()> {
    let run = Opened::open(config, location, setup)?;
    let _lock = run.lock()?;
    let catching_up = model.info.cost;
    model.info.provenance = Provenance {
        run_id: run.run_id.clone(),
        step: 0,
        parent: Some(origin.name.clone()),
    };
    // The costs of a run begin at zero, so that its models can be compared. Those of the origin are in its own store.
    model.info.cost = CostLedger::default();
    model.info.rules = Some(config.rules.to_string());
    let id = run.store.models().publish(0, &model)?;
    let why = serde_json::json!({
        "reason": "the first model",
        "from": origin.name,
        "cost_of_origin": origin.model.info.cost,
        "cost_of_catching_up": catching_up,
    });
    run.store.models().promote(0, &Promotion::now(&id, None, why))?;
    setup
        .watch
        .say(&format!("the run begins with {id}, from {}", origin.name));
    Ok(())
}
