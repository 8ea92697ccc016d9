//! A network on a server.

use std::sync::Mutex;

use tengen_encoding::PlaneSet;

use crate::predictor::Predictor;

/// A network, and a predictor for each of the server's threads.
pub(super) struct Network {
    pub(super) name: String,
    pub(super) plane_set: PlaneSet,
    pub(super) preferred_batch: usize,
    pub(super) lanes: Vec<Mutex<Box<dyn Predictor + Send>>>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {} threads", self.name, self.lanes.len())
    }
}
