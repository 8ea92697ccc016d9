//! The champion of a run, which plays on the board and analyzes stored games.

use tengen_matches::{Asked, TrainedOn};
use tengen_model::ModelId;
use tengen_rules::{Komi, Size};
use tengen_store::Store;

use crate::problem::{Problem, blocking};
use crate::server::Shared;

/// The champion of a run and what it was trained on.
pub(crate) struct Champion {
    pub(crate) model: ModelId,
    pub(crate) training: TrainedOn,
    /// The boards it was trained on, smallest first; 9x9 if they are not known.
    pub(crate) boards: Vec<Size>,
}

impl Champion {
    /// The current champion; `None` if the run has none yet. Blocks on files.
    fn of(store: &Store) -> Result<Option<Champion>, Problem> {
        let Some((_, promotion)) = store.models().champion()? else {
            return Ok(None);
        };
        let model = promotion.model_id;
        let (info, run) = (store.models().info(&model)?, store.run_info()?);
        let named = run
            .iter()
            .flat_map(|run| &run.sizes)
            .chain(info.fair_komi_half_points.keys());
        let mut boards: Vec<Size> = named.filter_map(|name| name.parse().ok()).collect();
        let training = TrainedOn::of(&model.to_string(), &info, run.as_ref());
        if boards.is_empty() {
            boards.push(training.conditions(Asked::default()).size);
        }
        boards.sort_by_key(|size| (size.area(), size.width()));
        boards.dedup();
        Ok(Some(Champion {
            model,
            training,
            boards,
        }))
    }

    /// Checks that the champion was trained on this board.
    pub(crate) fn check_board(&self, size: Size) -> Result<(), Problem> {
        if self.boards.contains(&size) {
            return Ok(());
        }
        let boards: Vec<_> = self.boards.iter().map(Size::to_string).collect();
        let boards = boards.join(", ");
        Err(Problem::refused(format!(
            "{} was trained on {boards}, not on {size}",
            self.model
        )))
    }

    /// Fair komi for a board according to the model, or the usual komi if the model does not know it.
    pub(crate) fn komi(&self, size: Size) -> Komi {
        let asked = Asked {
            size: Some(size),
            ..Asked::default()
        };
        self.training.conditions(asked).komi
    }
}

/// The current champion of the run with this name.
pub(crate) async fn champion_of(shared: &Shared, slug: &str) -> Result<Option<Champion>, Problem> {
    let store = shared.runs.find(slug)?.store.clone();
    blocking(move || Champion::of(&store)).await
}
