//! Turns the text of `--model` in `tengen data label` into a teacher.

use std::sync::atomic::AtomicBool;

use tengen_evaluator::{PlayerKind, PlayerSpec, SpecError};
use tengen_label::{EngineTeacher, NetworkTeacher, PredictorFactory, Teacher, network_search};
use tengen_search::UniformPredictor;

use crate::device::DeviceArgs;
use crate::output;
use tengen_matches::{NamedNetwork, read_network, source_of};

/// The prefix of a teacher that is another engine.
const ENGINE: &str = "analysis:";

/// The teacher with this name. It searches every position with `visits` visits and, with `ownership`, also predicts the
/// owners. Setting `stop` ends the wait for an engine to start.
pub(crate) fn teacher(
    text: &str,
    (visits, ownership): (u32, bool),
    threads: Option<u32>,
    device: &DeviceArgs,
    stop: &AtomicBool,
) -> anyhow::Result<Teacher> {
    if let Some(command) = text.strip_prefix(ENGINE) {
        return Ok(Teacher::Engine(EngineTeacher::start(command, visits, ownership, stop)?));
    }
    let spec: PlayerSpec = text
        .parse()
        .map_err(|error: SpecError| output::usage(error.to_string()))?;
    let mut search = network_search(&spec.options, visits).map_err(output::usage)?;
    search.ownership = ownership;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let gpus = device.devices().gpus().count();
    let threads = threads.map_or_else(|| cores().max(gpus), |threads| threads as usize);
    if spec.kind == PlayerKind::Uniform {
        return Ok(Teacher::Network(NetworkTeacher {
            name: "uniform".to_owned(),
            weights_sha256: None,
            precision: "fp32".to_owned(),
            search,
            noise: 1.0,
            threads,
            predictors: Box::new(|_| Ok(Box::new(UniformPredictor))),
        }));
    }
    let source = source_of(&spec.kind).ok_or_else(|| {
        output::usage(format!(
            "{spec} cannot label positions; use a network, uniform, or {ENGINE}COMMAND"
        ))
    })?;
    let network = read_network(&source)?;
    let (name, sha256, device) = match &network {
        NamedNetwork::Model(name, model, _) => (name, &model.info.weights_sha256, *device),
        NamedNetwork::Katago(name, network) => (name, &network.sha256, device.exact()),
    };
    let predictors = factory(&network, device, threads)?;
    Ok(Teacher::Network(NetworkTeacher {
        weights_sha256: Some(sha256.clone()),
        precision: device.dtype_name()?,
        search,
        noise: 1.0,
        threads,
        predictors,
        name: name.clone(),
    }))
}

#[cfg(feature = "torch")]
fn factory(network: &NamedNetwork, device: DeviceArgs, threads: usize) -> anyhow::Result<PredictorFactory> {
    let devices = tengen_network::DeviceChoice::all_of(device.devices());
    crate::device::check_each_has_a_thread(threads, devices.len())?;
    device.announce()?;
    let options = device.predictor_options()?;
    Ok(match network {
        NamedNetwork::Model(name, model, _) => tengen_predictors::on_devices(name, &model.weights, options, &devices)?,
        NamedNetwork::Katago(name, network) => tengen_predictors::on_devices(name, network, options, &devices)?,
    })
}

#[cfg(not(feature = "torch"))]
fn factory(_: &NamedNetwork, _: DeviceArgs, _: usize) -> anyhow::Result<PredictorFactory> {
    anyhow::bail!("this tengen was built without libtorch and cannot run a network; rebuild with the feature torch")
}
