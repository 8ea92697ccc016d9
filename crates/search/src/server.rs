//! Shares one device among many threads: a server with exclusive use of it batches jobs for the same network.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use tengen_rules::Size;

use crate::predictor::{PredictError, Predictor};

mod client;
mod lane;
mod line;
mod network;
mod part;

pub use client::Client;
use lane::Lane;
use line::Shared;
use network::Network;

/// The settings of a [`PredictionServer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSetup {
    /// Threads of the server, 1 or more. With two, one prepares its batch while the device computes the other's.
    pub lanes: usize,
    /// The maximum number of positions in a batch of several jobs. A larger job is predicted alone.
    pub most_positions: usize,
}

impl ServerSetup {
    /// For a GPU: two threads, and batches large enough to keep it busy.
    pub const GPU: ServerSetup = ServerSetup {
        lanes: 2,
        most_positions: 2048,
    };
}

/// Threads with exclusive use of a device, serving any number of networks and clients. While they compute, jobs from
/// all clients queue; those for the same network and canvas are then predicted as one batch. If a GPU has too little
/// memory for a batch, it is predicted in parts, and later batches are smaller.
///
/// Dropping the server stops its threads; clients then get errors.
#[derive(Debug)]
pub struct PredictionServer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// A network on a server. The server keeps it until all handles and clients are gone.
#[derive(Clone, Debug)]
pub struct ServedNetwork {
    shared: Arc<Shared>,
    network: Arc<Network>,
    name: String,
}

/// A handle that does not keep its network on the server.
#[derive(Clone, Debug)]
pub struct WeakNetwork {
    shared: Weak<Shared>,
    network: Weak<Network>,
}

/// What a server has done since its start, and its queue length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Batches predicted.
    pub batches: u64,
    /// Jobs that made up these batches.
    pub jobs: u64,
    /// Positions predicted.
    pub positions: u64,
    /// Time spent predicting, in nanoseconds, summed over the server's threads.
    pub busy_ns: u64,
    /// Jobs in the queue right now.
    pub waiting: u64,
    /// How often the server began to predict fewer positions at once, because the GPU ran out of memory.
    pub halved: u64,
}

impl PredictionServer {
    /// Starts the threads. If the system starts fewer than `setup` asks for, the server runs with those.
    ///
    /// # Errors
    /// [`PredictError::Failed`] if the system starts none.
    pub fn start(setup: ServerSetup) -> Result<PredictionServer, PredictError> {
        let shared = Arc::new(Shared::new(setup));
        let start = |number: usize| {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("predictor-{number}"));
            thread.spawn(move || Lane::new(number, shared).work())
        };
        let mut threads = Vec::new();
        for number in 0..setup.lanes.max(1) {
            match start(number) {
                Ok(thread) => threads.push(thread),
                Err(error) if number == 0 => {
                    return Err(PredictError::Failed(format!("no thread for a network: {error}")));
                }
                Err(_) => break,
            }
        }
        Ok(PredictionServer { shared, threads })
    }

    /// Adds a network; `predictor` is called once for each of the server's threads, with its number, on the calling
    /// thread.
    ///
    /// # Errors
    /// Those of `predictor`.
    pub fn add<E>(
        &self,
        predictor: impl FnMut(usize) -> Result<Box<dyn Predictor + Send>, E>,
    ) -> Result<ServedNetwork, E> {
        let lanes = (0..self.threads.len()).map(predictor);
        let lanes = lanes.collect::<Result<Vec<_>, E>>()?;
        let smallest = Size::new(1, 1).expect("1x1 is a board");
        let first = &lanes[0];
        let name = first.name();
        let network = Network {
            name: name.clone(),
            plane_set: first.new_batch(smallest).plane_set(),
            preferred_batch: first.preferred_batch(),
            lanes: lanes.into_iter().map(Mutex::new).collect(),
        };
        Ok(ServedNetwork {
            shared: self.shared.clone(),
            network: Arc::new(network),
            name,
        })
    }

    /// What the server has done so far.
    pub fn stats(&self) -> ServerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ServerStats {
            batches: read(&self.shared.batches),
            jobs: read(&self.shared.jobs),
            positions: read(&self.shared.positions),
            busy_ns: read(&self.shared.busy_ns),
            waiting: self.shared.line().waiting.len() as u64,
            halved: read(&self.shared.halved),
        }
    }

    /// Forgets which batches were too large for the GPU's memory, and tries them again.
    pub fn lift_limit(&self) {
        self.shared.most_rows.store(usize::MAX, Ordering::Relaxed);
    }
}

impl ServerStats {
    /// The mean number of positions per batch since `before`; NaN if there was no batch.
    pub fn mean_batch_since(self, before: ServerStats) -> f64 {
        (self.positions - before.positions) as f64 / (self.batches - before.batches) as f64
    }

    /// The combined stats of two servers.
    pub fn and(self, other: ServerStats) -> ServerStats {
        ServerStats {
            batches: self.batches + other.batches,
            jobs: self.jobs + other.jobs,
            positions: self.positions + other.positions,
            busy_ns: self.busy_ns + other.busy_ns,
            waiting: self.waiting + other.waiting,
            halved: self.halved + other.halved,
        }
    }
}

impl Drop for PredictionServer {
    fn drop(&mut self) {
        self.shared.close();
        for thread in self.threads.drain(..) {
            // A lane catches the panics of its predictors.
            let _ = thread.join();
        }
    }
}

impl ServedNetwork {
    /// A predictor for the calling thread to use.
    pub fn client(&self) -> Client {
        Client::new(self.clone())
    }

    /// The same network under another name; jobs for both share batches.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> ServedNetwork {
        name.clone_into(&mut self.name);
        self
    }

    /// A handle that does not keep the network on the server.
    pub fn downgrade(&self) -> WeakNetwork {
        WeakNetwork {
            shared: Arc::downgrade(&self.shared),
            network: Arc::downgrade(&self.network),
        }
    }
}

impl WeakNetwork {
    /// The network, under its predictors' name; `None` if it is gone.
    pub fn upgrade(&self) -> Option<ServedNetwork> {
        let network = self.network.upgrade()?;
        Some(ServedNetwork {
            shared: self.shared.upgrade()?,
            name: network.name.clone(),
            network,
        })
    }
}

/// The error once the server's threads have ended.
fn ended() -> PredictError {
    PredictError::Failed("the prediction server has ended".to_owned())
}
