//! The last layers and the value of each position in one call, for prediction on the CPU.
//!
//! The C++ side is `shim/heads.cpp`. [`last_layers`](crate::heads::last_layers) and [`Value`](crate::value::Value)
//! define what it computes.
#![allow(unsafe_code)]

use std::ffi::c_void;

use tch::Tensor;

use tengen_encoding::InputBatch;
use tengen_model::{LinearTensors, MARGINS, Weights};
use tengen_search::Predictions;

use crate::fused::{FusedError, last_error};
use crate::pool::sided;

unsafe extern "C" {
    fn tengen_last_layers(
        activations: *const c_void,
        heads: *const RawHeads,
        komi: *const f32,
        sided: f64,
        out: *const RawPredictions,
    ) -> bool;
}

/// How many outputs the shim computes at once (`kColumns`), even where a table has fewer.
const COLUMNS: usize = 64;

/// `TengenHeads` of the shim.
#[repr(C)]
struct RawHeads {
    channels: i64,
    hidden_units: i64,
    hidden_stride: i64,
    margins: i64,
    margin_stride: i64,
    points: *const f32,
    points_bias: *const f32,
    pass: *const f32,
    pass_bias: *const f32,
    hidden: *const f32,
    hidden_bias: *const f32,
    margin: *const f32,
    margin_bias: *const f32,
}

/// `TengenPredictions` of the shim.
#[repr(C)]
struct RawPredictions {
    policy: *mut f32,
    ownership: *mut f32,
    win: *mut f32,
    loss: *mut f32,
    margin: *mut f32,
}

/// The weights after the head's convolution, arranged for the shim.
#[derive(Debug)]
pub(crate) struct FusedHeads {
    points: Table,
    pass: Table,
    hidden_units: usize,
    hidden: Table,
    margin: Table,
}

/// A linear layer in fp32.
#[derive(Debug)]
struct Table {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl FusedHeads {
    /// The heads of a network.
    pub(crate) fn new(weights: &Weights) -> FusedHeads {
        let heads = &weights.layout().layers().heads;
        FusedHeads {
            points: Table::with_rows(weights, &heads.points),
            pass: Table::with_rows(weights, &heads.pass),
            hidden_units: weights.layout().parameter(heads.hidden.weight).shape[0],
            hidden: Table::with_columns(weights, &heads.hidden),
            margin: Table::with_columns(weights, &heads.margin),
        }
    }

    /// Writes all predictions for a batch whose boards fill the canvas, given the nonnegative activations of the head's
    /// convolution, `[B, C, H, W]`. `out` must have room for the batch and its ownership.
    ///
    /// # Errors
    /// libtorch's message when it cannot arrange the activations.
    pub(crate) fn predict(
        &self,
        activations: &Tensor,
        inputs: &InputBatch,
        out: &mut Predictions,
    ) -> Result<(), FusedError> {
        let (samples, area) = (inputs.len(), inputs.canvas().area());
        assert!(inputs.uniform(), "every board fills the canvas");
        assert_eq!(activations.size()[0], samples as i64, "one row per position");
        assert_eq!(
            activations.size()[2] * activations.size()[3],
            area as i64,
            "one column per point"
        );
        assert_eq!(out.policy_logits.dim(), (samples, area + 1), "room for the policy");
        assert_eq!(out.ownership.len(), samples * area, "room for the ownership");
        assert_eq!(
            [out.win.len(), out.loss.len(), out.margin.len()],
            [samples; 3],
            "room for the values"
        );
        let komi = inputs.komi();
        let komi = komi.as_slice().expect("one number per position, in order");
        assert_eq!(komi.len(), samples, "a komi for every position");
        let in_order = "a reset array is in C order";
        let places = RawPredictions {
            policy: out.policy_logits.as_slice_mut().expect(in_order).as_mut_ptr(),
            ownership: out.ownership.as_slice_mut().expect(in_order).as_mut_ptr(),
            win: out.win.as_slice_mut().expect(in_order).as_mut_ptr(),
            loss: out.loss.as_slice_mut().expect(in_order).as_mut_ptr(),
            margin: out.margin.as_slice_mut().expect(in_order).as_mut_ptr(),
        };
        // SAFETY: the tensor and all tables outlive the call. The tables have the sizes of the layout, which the shim
        // derives from the same three numbers, and the places have room for the batch, as checked above.
        let done = unsafe {
            tengen_last_layers(
                activations.as_ptr().cast(),
                &self.raw(),
                komi.as_ptr(),
                sided(area as f64),
                &places,
            )
        };
        if done { Ok(()) } else { Err(last_error()) }
    }

    fn raw(&self) -> RawHeads {
        RawHeads {
            channels: (self.points.weight.len() / 2) as i64,
            hidden_units: self.hidden_units as i64,
            hidden_stride: self.hidden.bias.len() as i64,
            margins: MARGINS as i64,
            margin_stride: self.margin.bias.len() as i64,
            points: self.points.weight.as_ptr(),
            points_bias: self.points.bias.as_ptr(),
            pass: self.pass.weight.as_ptr(),
            pass_bias: self.pass.bias.as_ptr(),
            hidden: self.hidden.weight.as_ptr(),
            hidden_bias: self.hidden.bias.as_ptr(),
            margin: self.margin.weight.as_ptr(),
            margin_bias: self.margin.bias.as_ptr(),
        }
    }
}

impl Table {
    /// The layer as it is stored, `[outputs, inputs]`.
    fn with_rows(weights: &Weights, tensors: &LinearTensors) -> Table {
        let outputs = weights.layout().parameter(tensors.weight).shape[0];
        Table {
            weight: weights.tensor(tensors.weight).to_vec(),
            bias: tensors
                .bias
                .map_or_else(|| vec![0.0; outputs], |bias| weights.tensor(bias).to_vec()),
        }
    }

    /// The layer with the outputs innermost, `[inputs, stride]`: at least [`COLUMNS`] zeros follow each row's outputs.
    fn with_columns(weights: &Weights, tensors: &LinearTensors) -> Table {
        let rows = Table::with_rows(weights, tensors);
        let outputs = rows.bias.len();
        let inputs = rows.weight.len() / outputs;
        let stride = (outputs + COLUMNS).next_multiple_of(COLUMNS);
        let mut bias = rows.bias;
        bias.resize(stride, 0.0);
        let mut weight = vec![0.0; inputs * stride];
        for (output, row) in rows.weight.chunks_exact(inputs).enumerate() {
            for (input, &value) in row.iter().enumerate() {
                weight[input * stride + output] = value;
            }
        }
        Table { weight, bias }
    }
}
