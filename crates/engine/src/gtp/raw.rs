//! `kata-raw-nn`: the network's raw output for a position, without a search.

use tengen_encoding::Features;
use tengen_gtp::{EngineError, RawNetwork, Turn};
use tengen_rules::{Color, Point, Symmetry};
use tengen_search::{Batch, Prediction, Predictor};

/// The network's output for a position transformed by a symmetry of the board, given by its number from 0 to 7.
pub(super) fn judge(
    predictor: &mut dyn Predictor,
    turn: &Turn<'_>,
    symmetry: usize,
) -> Result<RawNetwork, EngineError> {
    let size = turn.position.size();
    let found = Symmetry::all(size).iter().find(|known| known.index() == symmetry);
    let Some(&shown_under) = found else {
        return Err(EngineError::Unsupported(format!("symmetry {symmetry} on {size}")));
    };
    let plane_set = predictor.new_batch(size).plane_set();
    let features = Features::seen_with(plane_set, turn.position, turn.komi).transformed(shown_under);
    let mut batch = Batch::new();
    batch.begin(size, predictor);
    let row = batch.add(features.key(), &features);
    batch
        .predict(predictor)
        .map_err(|error| EngineError::Failed(error.to_string()))?;
    Ok(by_white(turn, shown_under, batch.prediction(row)))
}

/// Transforms the prediction of a transformed position back and converts it to White's viewpoint.
fn by_white(turn: &Turn<'_>, symmetry: Symmetry, seen: Prediction<'_>) -> RawNetwork {
    let size = turn.position.size();
    let image = |point: Point| symmetry.apply(size, point).index();
    let legal = turn.position.legal_points();
    let pass = seen.policy_logits[size.area()];
    let logits: Vec<Option<f32>> = size
        .points()
        .map(|point| legal.contains(point).then(|| seen.policy_logits[image(point)]))
        .collect();
    let largest = logits.iter().flatten().copied().fold(pass, f32::max);
    let weight = |logit: f32| (logit - largest).exp();
    let sum: f32 = weight(pass) + logits.iter().flatten().map(|&logit| weight(logit)).sum::<f32>();
    let sign = if turn.color() == Color::White { 1.0 } else { -1.0 };
    let ownership = |point: Point| sign * seen.ownership[image(point)];
    RawNetwork {
        symmetry: symmetry.index(),
        white_win: (1.0 + sign * (seen.win - seen.loss)) / 2.0,
        white_lead: sign * seen.margin,
        policy: logits
            .into_iter()
            .map(|logit| logit.map(|logit| weight(logit) / sum))
            .collect(),
        pass: weight(pass) / sum,
        ownership: if seen.ownership.is_empty() {
            Vec::new()
        } else {
            size.points().map(ownership).collect()
        },
    }
}
