//! How do many threads use one network? Each has its own predictor on the CPU; a GPU has a server that all share.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use tch::Device;

use tengen_model::Weights;
use tengen_search::{PredictError, PredictionServer, Predictor, ServedNetwork, ServerSetup, ServerStats};

use crate::device::DeviceChoice;
use crate::katago::KatagoPredictor;
use crate::predictor::{PredictorError, PredictorOptions, TorchPredictor};
use crate::reused::{self, Reused};
use crate::usage;

/// The servers of the GPUs that this process uses, by the GPU's number. They live until [`end_gpu_servers`].
static SERVERS: Mutex<BTreeMap<usize, Arc<PredictionServer>>> = Mutex::new(BTreeMap::new());

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
    /// A predictor of this name, which computes on the calling thread.
    ///
    /// # Errors
    /// As [`TorchPredictor::new`].
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

/// A network for any number of threads.
///
/// On a GPU, the predictors of all threads and networks send their batches to the GPU's server, which joins those that
/// wait for the same network.
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
    /// A network with this name for its predictors. On a GPU, its weights are there when this returns.
    ///
    /// # Errors
    /// As [`TorchPredictor::new`] on a GPU.
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

    /// A predictor for the calling thread.
    ///
    /// # Errors
    /// As [`TorchPredictor::new`] on the CPU.
    pub fn predictor(&self) -> Result<Box<dyn Predictor>, PredictorError> {
        Ok(match &self.0 {
            Place::Cpu { name, network, options } => network.predictor(name, *options)?,
            Place::Gpu(served) => Box::new(served.client()),
        })
    }
}

fn served(
    gpu: usize,
    name: &str,
    network: &AnyNetwork,
    options: PredictorOptions,
) -> Result<ServedNetwork, PredictorError> {
    let server = server(gpu)?;
    server.add(|| match network {
        AnyNetwork::Own(weights) => Ok(Box::new(Reused::new(gpu, weights, options)?.with_name(name)) as _),
        AnyNetwork::Katago(_) => network.predictor(name, options),
    })
}

/// The server of a GPU, started if it is the first time.
fn server(gpu: usize) -> Result<Arc<PredictionServer>, PredictorError> {
    let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match servers.entry(gpu) {
        Entry::Occupied(started) => started.get().clone(),
        Entry::Vacant(none) => none
            .insert(Arc::new(PredictionServer::start(ServerSetup::GPU)?))
            .clone(),
    })
}

/// Makes the predictor of a worker, in its thread, by the worker's number.
pub type MakePredictor = Box<dyn Fn(usize) -> Result<Box<dyn Predictor>, PredictError> + Send + Sync>;

/// Makes the predictors of any number of workers, which are bound to these devices in turn, at least one.
///
/// # Errors
/// As [`SharedNetwork::new`].
pub fn on_devices(
    name: &str,
    network: impl Into<AnyNetwork>,
    options: PredictorOptions,
    devices: &[DeviceChoice],
) -> Result<MakePredictor, PredictorError> {
    let network = network.into();
    let on_device = |&device| SharedNetwork::new(name, network.clone(), PredictorOptions { device, ..options });
    let networks = devices.iter().map(on_device).collect::<Result<Vec<_>, _>>()?;
    let failed = |error: PredictorError| PredictError::Failed(error.to_string());
    let make = move |worker: usize| networks[worker % networks.len()].predictor().map_err(failed);
    Ok(Box::new(make))
}

/// Ends the servers of this process's GPUs, at its end: a thread that still gave memory back to a GPU while libtorch is
/// unloaded would abort the process.
pub fn end_gpu_servers() {
    let servers = std::mem::take(&mut *SERVERS.lock().unwrap_or_else(PoisonError::into_inner));
    drop(servers);
    reused::forget();
    usage::forget();
}

/// What the servers of this process's GPUs have done so far, by the GPU's number.
pub fn gpu_servers() -> Vec<(usize, ServerStats)> {
    let servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    servers.iter().map(|(&gpu, server)| (gpu, server.stats())).collect()
}
