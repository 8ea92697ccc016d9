//! Pruning of models: only candidates that were never promoted may be dropped.

use std::collections::{BTreeMap, BTreeSet};

use tengen_model::ModelId;

use crate::models::{Models, info_path, weights_path};
use crate::store_error::StoreError;

impl Models<'_> {
    /// Finds the models that were never promoted, are older than the champion, and are not among the newest `keep`
    /// models, with the bytes of their weights; oldest first. Changes nothing.
    ///
    /// # Errors
    /// Same as [`Models::promotions`].
    pub fn plan_prune(self, keep: usize) -> Result<Vec<(ModelId, u64)>, StoreError> {
        let promotions = self.promotions()?;
        let champion = promotions.last().map_or(0, |(_, promotion)| promotion.generation);
        let promoted: BTreeSet<ModelId> = promotions
            .into_iter()
            .map(|(_, promotion)| promotion.model_id)
            .collect();
        let sizes: BTreeMap<String, u64> = self.0.list("models")?.into_iter().collect();
        let models = self.list()?;
        let old = models.len().saturating_sub(keep);
        let going = models.into_iter().take(old);
        let going = going.filter(|id| id.generation() < champion && !promoted.contains(id));
        Ok(going
            .map(|id| {
                let bytes = sizes.get(&weights_path(&id)).copied().unwrap_or(0);
                (id, bytes)
            })
            .collect())
    }

    /// Deletes what was planned: first weights, then descriptions. If the process is killed in between, a model stays
    /// in the list without weights until the next call.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn prune(self, plan: &[(ModelId, u64)]) -> Result<(), StoreError> {
        for (id, _) in plan {
            self.0.delete(&weights_path(id))?;
            self.0.delete(&info_path(id))?;
        }
        Ok(())
    }
}
