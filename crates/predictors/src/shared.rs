//! Shares one network among many threads: each has its own predictor on the CPU, and all share a server on a GPU.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tch::Device;

use tengen_model::Weights;
use tengen_network::{DeviceChoice, PredictorError, PredictorOptions, TorchPredictor, forget_gpu_usage};
use tengen_search::{
    ParallelPredictor, PredictError, PredictionServer, Predictor, ServedNetwork, ServerSetup, ServerStats, WeakNetwork,
};

use crate::katago::KatagoPredictor;
use crate::reused::{self, Lane, Reused};

/// The GPU servers of this process, by GPU number. They live until [`end_gpu_servers`].
static SERVERS: Mutex<BTreeMap<usize, Arc<PredictionServer>>> = Mutex::new(BTreeMap::new());

/// The networks on these servers. Adding the same network again shares it, so the gate and self-play share batches when
/// they use the same network.
static SERVED: Mutex<Vec<Served>> = Mutex::new(Vec::new());

/// A network on a GPU's server.
struct Served {
    gpu: usize,
    options: PredictorOptions,
    network: AnyNetwork,
    handle: WeakNetwork,
}

/// One of our networks, or one of KataGo's.
#[derive(Clone, Debug)]
pub enum AnyNetwork {
    /// Ours.
    Own(Box<Weights>),
    /// KataGo's.
    Katago(Arc<tengen_katago::Network>),
}

impl From<&Weights> for AnyNetwork {
    fn from(weights: &Weights) -> AnyNetwork {
        AnyNetwork::Own(Box::new(weights.clone()))
    }
}

impl From<&Arc<tengen_katago::Network>> for AnyNetwork {
    fn from(network: &Arc<tengen_katago::Network>) -> AnyNetwork {
        AnyNetwork::Katago(network.clone())
    }
}

impl AnyNetwork {
    fn is(&self, other: &AnyNetwork) -> bool {
        match (self, other) {
            (AnyNetwork::Own(own), AnyNetwork::Own(other)) => own == other,
            (AnyNetwork::Katago(own), AnyNetwork::Katago(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }

    /// A predictor with this name, which computes on the calling thread.
    ///
    /// # Errors
    /// Same as [`TorchPredictor::new`].
    pub(crate) fn predictor(
        &self,
        name: &str,
        options: PredictorOptions,
    ) -> Result<Box<dyn Predictor + Send>, PredictorError> {
        Ok(match self {
            AnyNetwork::Own(weights) => Box::new(TorchPredictor::new(weights, options)?.with_name(name)),
            AnyNetwork::Katago(network) => Box::new(KatagoPredictor::new(network, options)?.with_name(name)),
        })
    }
}

/// A network that any number of threads can use.
///
/// On a GPU, the predictors of all threads and networks send their batches to the GPU's server, which batches together
/// those queued for the same network.
#[derive(Clone, Debug)]
pub struct SharedNetwork(Place);

#[derive(Clone, Debug)]
enum Place {
    Cpu {
        name: String,
        network: AnyNetwork,
        options: PredictorOptions,
    },
    Gpu(ServedNetwork),
}

impl SharedNetwork {
    /// A network whose predictors have this name. On a GPU, its weights are uploaded when this returns.
    ///
    /// # Errors
    /// Same as [`TorchPredictor::new`] on a GPU.
    pub fn new(
        name: &str,
        network: impl Into<AnyNetwork>,
        options: PredictorOptions,
    ) -> Result<SharedNetwork, PredictorError> {
        let network = network.into();
        let place = match options.device.resolve()? {
            Device::Cuda(number) => Place::Gpu(served(number, name, &network, options)?),
            _ => Place::Cpu {
                name: name.to_owned(),
                network,
                options,
            },
        };
        Ok(SharedNetwork(place))
    }

    /// A predictor for the calling thread to use.
    ///
    /// # Errors
    /// Same as [`TorchPredictor::new`] on the CPU.
    pub fn predictor(&self) -> Result<Box<dyn Predictor>, PredictorError> {
        Ok(match &self.0 {
            Place::Cpu { name, network, options } => network.predictor(name, *options)?,
            Place::Gpu(served) => Box::new(served.client()),
        })
    }
}

/// The fewest positions worth a thread. A position's prediction does not depend on the rest of its batch, so the number
/// of threads does not change it.
const FEWEST: usize = 1;

/// The maximum number of threads for one batch. Each has its own copy of the weights, and batches are small.
const MOST_THREADS: usize = 16;

/// A predictor with this network and name that uses all cores available to the process, up to 16, or the GPU.
///
/// # Errors
/// Same as [`KatagoPredictor::new`](KatagoPredictor::new) and [`SharedNetwork::new`].
pub fn on_all_cores(
    name: &str,
    network: impl Into<AnyNetwork>,
    options: PredictorOptions,
) -> Result<Box<dyn Predictor>, PredictorError> {
    let network = network.into();
    let cores = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST_THREADS);
    if options.device.resolve()? != Device::Cpu || cores == 1 {
        return SharedNetwork::new(name, network, options)?.predictor();
    }
    let first = network.predictor(name, options)?;
    let others = (1..cores).map(|_| network.predictor(name, options));
    let others = others.collect::<Result<_, PredictorError>>()?;
    Ok(Box::new(ParallelPredictor::new(first, others, FEWEST)))
}

fn served(
    gpu: usize,
    name: &str,
    network: &AnyNetwork,
    options: PredictorOptions,
) -> Result<ServedNetwork, PredictorError> {
    if let Some(there) = find(gpu, network, options) {
        return Ok(there.with_name(name));
    }
    let server = server(gpu)?;
    // Do not hold the lock on `SERVED`, because uploading weights takes a while.
    let added = server.add(|thread| match network {
        AnyNetwork::Own(weights) => {
            Ok::<_, PredictorError>(Box::new(Reused::new(Lane { gpu, thread }, weights, options)?.with_name(name)) as _)
        }
        AnyNetwork::Katago(_) => network.predictor(name, options),
    })?;
    all_served().push(Served {
        gpu,
        options,
        network: network.clone(),
        handle: added.downgrade(),
    });
    Ok(added)
}

/// Finds a network that is already on the server.
fn find(gpu: usize, network: &AnyNetwork, options: PredictorOptions) -> Option<ServedNetwork> {
    let mut all = all_served();
    all.retain(|served| served.handle.upgrade().is_some());
    let mut same = all
        .iter()
        .filter(|served| (served.gpu, served.options) == (gpu, options) && served.network.is(network));
    same.find_map(|served| served.handle.upgrade())
}

fn all_served() -> MutexGuard<'static, Vec<Served>> {
    SERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server of a GPU, started on first use.
fn server(gpu: usize) -> Result<Arc<PredictionServer>, PredictorError> {
    let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match servers.entry(gpu) {
        Entry::Occupied(started) => started.get().clone(),
        Entry::Vacant(none) => none
            .insert(Arc::new(PredictionServer::start(ServerSetup::GPU)?))
            .clone(),
    })
}

/// Makes a worker's predictor on the worker's thread, given the worker's number.
pub type MakePredictor = Box<dyn Fn(usize) -> Result<Box<dyn Predictor>, PredictError> + Send + Sync>;

/// Makes predictors for any number of workers, assigned round-robin to these devices, at least one.
///
/// # Errors
/// Same as [`SharedNetwork::new`].
pub fn on_devices(
    name: &str,
    network: impl Into<AnyNetwork>,
    options: PredictorOptions,
    devices: &[DeviceChoice],
) -> Result<MakePredictor, PredictorError> {
    let network = network.into();
    let on_device = |&device| SharedNetwork::new(name, network.clone(), PredictorOptions { device, ..options });
    Ok(in_turn(devices.iter().map(on_device).collect::<Result<_, _>>()?))
}

/// Makes predictors for any number of workers, assigned round-robin to these networks, at least one.
fn in_turn(networks: Vec<SharedNetwork>) -> MakePredictor {
    let failed = |error: PredictorError| PredictError::Failed(error.to_string());
    Box::new(move |worker| networks[worker % networks.len()].predictor().map_err(failed))
}

/// Shuts down this process's GPU servers, before it exits: a thread that is still freeing GPU memory while libtorch
/// unloads would abort the process.
pub fn end_gpu_servers() {
    all_served().clear();
    let servers = std::mem::take(&mut *SERVERS.lock().unwrap_or_else(PoisonError::into_inner));
    drop(servers);
    reused::forget();
    forget_gpu_usage();
}

/// What this process's GPU servers have done so far, by GPU number.
pub fn gpu_servers() -> Vec<(usize, ServerStats)> {
    let servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    servers.iter().map(|(&gpu, server)| (gpu, server.stats())).collect()
}

/// Lets this process's GPU servers try batches again that were too large for the GPU's memory.
pub fn lift_limits() {
    let servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    servers.values().for_each(|server| server.lift_limit());
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tengen_model::NetworkConfig;
    use tengen_network::Engine;
    use tengen_rules::Size;
    use tengen_search::{Predictions, random_inputs};

    use super::*;

    /// Runs on the CPU, behind the server of a nonexistent GPU.
    const GPU: usize = 62;

    #[test]
    fn workers_use_the_devices_in_turn() {
        tengen_network::limit_threads();
        let weights = Weights::random(&NetworkConfig::new(1, 8), 1).expect("a shape");
        let network = AnyNetwork::from(&weights);
        let gpus = [60, 61];
        let place = |gpu| {
            SharedNetwork(Place::Gpu(
                served(gpu, "", &network, PredictorOptions::default()).expect("the CPU"),
            ))
        };
        let make = in_turn(gpus.map(place).into());
        for (worker, rows) in [1, 2, 4, 8].into_iter().enumerate() {
            let mut predictor = make(worker).expect("a server");
            let inputs = random_inputs(predictor.new_batch(Size::square(5).expect("a board")), rows, 1);
            predictor
                .predict(&inputs, &mut Predictions::default())
                .expect("the CPU");
        }
        let positions = |gpu| server(gpu).expect("it has started").stats().positions;
        assert_eq!(gpus.map(positions), [1 + 4, 2 + 8]);
    }

    #[test]
    fn a_network_that_is_there_is_shared() {
        tengen_network::limit_threads();
        let config = NetworkConfig::new(1, 8);
        let [lively, random] = [Weights::perturbed(&config), Weights::random(&config, 1)];
        let (lively, random) = (lively.expect("a shape"), random.expect("a shape"));
        let (lively, random) = (AnyNetwork::from(&lively), AnyNetwork::from(&random));
        let options = PredictorOptions::default();
        let add = |name, network: &AnyNetwork| served(GPU, name, network, options).expect("the CPU");
        let there = || all_served().iter().filter(|served| served.gpu == GPU).count();
        let (first, same, other) = (add("first", &lively), add("same", &lively), add("other", &random));
        assert_eq!(there(), 2);
        let mut clients = [&first, &same, &other].map(ServedNetwork::client);
        assert_eq!(clients.each_ref().map(Predictor::name), ["first", "same", "other"]);
        let inputs = random_inputs(clients[0].new_batch(Size::square(5).expect("a board")), 3, 1);
        let [first_out, same_out, other_out] = clients.each_mut().map(|client| {
            let mut out = Predictions::default();
            client.predict(&inputs, &mut out).expect("the CPU");
            out
        });
        assert!(first_out == same_out && first_out != other_out);
        let plain = PredictorOptions {
            engine: Engine::Plain,
            ..options
        };
        let _plain = served(GPU, "other engine", &lively, plain).expect("the CPU");
        assert_eq!(there(), 3);
        drop((first, clients));
        assert!(find(GPU, &lively, options).is_some(), "the second handle keeps it");
        drop(same);
        // The server's thread releases a network shortly after its last answer.
        let gone = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            find(GPU, &lively, options).is_none()
        });
        assert!(gone && find(GPU, &random, options).is_some());
        assert_eq!(there(), 2);
    }
}
