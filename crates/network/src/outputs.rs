//! Copies a network's outputs back from its device.

use ndarray::{ArrayView2, s};
use tch::{Kind, Tensor};

use tengen_search::Predictions;

use crate::heads::Outputs;
use crate::stream::{floats, read_back};
use crate::value::Value;

/// Copies every output separately, which costs nothing on the CPU.
pub(crate) fn read_each(outputs: &Outputs, value: &Value, out: &mut Predictions) {
    let pairs = [
        (&outputs.policy, out.policy_logits.as_slice_mut()),
        (&outputs.ownership, out.ownership.as_slice_mut()),
        (&value.win, out.win.as_slice_mut()),
        (&value.loss, out.loss.as_slice_mut()),
        (&value.margin, out.margin.as_slice_mut()),
    ];
    for (tensor, values) in pairs {
        let values = values.expect("a reset array is in C order");
        let length = values.len();
        tensor.copy_data(values, length);
    }
}

/// All outputs in one tensor, `[B, 2 A + 4]`, to wait for the device only once: policy, ownership, win, loss, margin.
pub(crate) fn joined(outputs: &Outputs, value: &Value) -> Tensor {
    let column = |values: &Tensor| values.unsqueeze(1);
    let parts = [
        outputs.policy.shallow_clone(),
        outputs.ownership.shallow_clone(),
        column(&value.win),
        column(&value.loss),
        column(&value.margin),
    ];
    Tensor::cat(&parts, 1).to_kind(Kind::Float)
}

/// Copies the joined outputs of the first positions, as many as `out` has, in one transfer.
pub(crate) fn read_joined(joined: &Tensor, out: &mut Predictions) {
    let (batch, moves) = out.policy_logits.dim();
    let joined = read_back(&joined.narrow(0, 0, batch as i64));
    let points = moves - 1;
    let values = ArrayView2::from_shape((batch, moves + points + 3), floats(&joined)).expect("a row for each position");
    out.policy_logits.assign(&values.slice(s![.., ..moves]));
    let ownership = out.ownership.view_mut().into_shape_with_order((batch, points));
    ownership
        .expect("the arrays are of one canvas")
        .assign(&values.slice(s![.., moves..moves + points]));
    out.win.assign(&values.column(moves + points));
    out.loss.assign(&values.column(moves + points + 1));
    out.margin.assign(&values.column(moves + points + 2));
}

#[cfg(test)]
mod tests {
    use tch::Device;
    use tengen_rules::Size;

    use super::*;

    #[test]
    fn both_ways_of_reading_outputs_agree() {
        crate::limit_threads();
        let number = |seed: f64, shape: [i64; 2]| {
            let count = shape[0] * shape[1];
            (Tensor::arange(count, (Kind::Float, Device::Cpu)) * seed)
                .sin()
                .view(shape)
        };
        let flat = |seed: f64| number(seed, [1, 3]).flatten(0, 1);
        let outputs = Outputs {
            policy: number(0.3, [3, 5]),
            ownership: number(0.7, [3, 4]),
            margins: Tensor::new(),
            reply: None,
            soft: None,
            short_term: None,
        };
        let value = Value {
            win: flat(1.1),
            loss: flat(1.7),
            margin: flat(2.3),
        };
        let mut each = Predictions::default();
        each.reset(3, Size::square(2).expect("a board"));
        each.reset_ownership(Size::square(2).expect("a board"));
        let mut together = each.clone();
        read_each(&outputs, &value, &mut each);
        read_joined(&joined(&outputs, &value), &mut together);
        assert_eq!(each, together);
        assert!(each.margin.iter().all(|&value| value != 0.0) || each.margin[0] == 0.0);
    }
}
