//! How are operators of ONNX computed with libtorch? Without any length of the batch or the board.

use std::collections::BTreeMap;

use tch::{Kind, Tensor};
use tengen_exchange::{Operators, Step, Values};

use crate::TorchscriptError;

/// The constants of a network by name: numbers to compute with, and axes and places.
pub(crate) struct Constants<'a> {
    floats: BTreeMap<&'a str, Tensor>,
    ints: BTreeMap<&'a str, &'a [i64]>,
}

impl<'a> Constants<'a> {
    /// The numbers to compute with, by names without dots.
    pub(crate) fn buffers(&self) -> Vec<(String, Tensor)> {
        let named = self.floats.iter();
        named
            .map(|(name, tensor)| (name.replace('.', "_"), tensor.shallow_clone()))
            .collect()
    }

    pub(crate) fn new(operators: &'a Operators) -> Constants<'a> {
        let mut constants = Constants {
            floats: BTreeMap::new(),
            ints: BTreeMap::new(),
        };
        for constant in &operators.constants {
            match &constant.values {
                Values::Floats(values) => {
                    let tensor = Tensor::from_slice(values).reshape(&constant.shape);
                    constants.floats.insert(&constant.name, tensor);
                }
                Values::Ints(values) => {
                    constants.ints.insert(&constant.name, values);
                }
            }
        }
        constants
    }
}

/// The outputs in order, computed from the inputs in order.
pub(crate) fn outputs(
    operators: &Operators,
    constants: &Constants<'_>,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, TorchscriptError> {
    let named = operators.inputs.iter().map(String::as_str);
    let mut values: BTreeMap<&str, Tensor> = named.zip(inputs.iter().map(Tensor::shallow_clone)).collect();
    for step in &operators.steps {
        let operation = Operation {
            step,
            constants,
            values: &values,
        };
        let output = operation.compute()?;
        values.insert(&step.output, output);
    }
    let outputs = operators.outputs.iter().map(|name| values.remove(name.as_str()));
    let missing = || TorchscriptError::Operator {
        kind: "Identity".to_owned(),
        reason: "an output is not computed".to_owned(),
    };
    outputs.collect::<Option<Vec<_>>>().ok_or_else(missing)
}

/// One step with all that is known before it.
struct Operation<'a> {
    step: &'a Step,
    constants: &'a Constants<'a>,
    values: &'a BTreeMap<&'a str, Tensor>,
}

impl Operation<'_> {
    fn compute(&self) -> Result<Tensor, TorchscriptError> {
        let x = self.tensor(0)?;
        Ok(match self.step.kind.as_str() {
            "Identity" => x.shallow_clone(),
            "Relu" => x.relu(),
            "Tanh" => x.tanh(),
            "Sqrt" => x.sqrt(),
            "Abs" => x.abs(),
            "Add" => x + self.tensor(1)?,
            "Sub" => x - self.tensor(1)?,
            "Mul" => x * self.tensor(1)?,
            "Div" => x / self.tensor(1)?,
            "Greater" => x.gt_tensor(self.tensor(1)?),
            "Less" => x.lt_tensor(self.tensor(1)?),
            "Where" => self.tensor(1)?.where_self(x, self.tensor(2)?),
            // The only type that is asked for is that of floats.
            "Cast" => x.to_kind(Kind::Float),
            "Conv" => {
                let padding = self.step.attributes.get("pads").map_or(&[0, 0][..], |pads| &pads[..2]);
                x.conv2d(self.tensor(1)?, self.optional(2), [1, 1], padding, [1, 1], 1)
            }
            "Gemm" => x.linear(self.tensor(1)?, self.optional(2)),
            "Flatten" => x.flatten(1, -1),
            "Softmax" => x.softmax(self.attribute("axis")?[0], None::<Kind>),
            "Concat" => {
                let parts = (0..self.step.inputs.len()).map(|place| self.tensor(place));
                Tensor::cat(&parts.collect::<Result<Vec<_>, _>>()?, self.attribute("axis")?[0])
            }
            "ReduceSum" => x.sum_dim_intlist(self.ints(1)?, false, None::<Kind>),
            "ReduceMax" => x.amax(self.attribute("axes")?, false),
            "Slice" => {
                let (first, end, axis) = (self.ints(1)?[0], self.ints(2)?[0], self.ints(3)?[0]);
                x.narrow(axis, first, end - first)
            }
            "Unsqueeze" => {
                let axes = self.ints(1)?.iter();
                axes.fold(x.shallow_clone(), |x, &axis| x.unsqueeze(axis))
            }
            "Squeeze" => x.squeeze_dim(self.ints(1)?[0]),
            _ => return Err(self.failure("it is not known")),
        })
    }

    fn failure(&self, reason: &str) -> TorchscriptError {
        TorchscriptError::Operator {
            kind: self.step.kind.clone(),
            reason: reason.to_owned(),
        }
    }

    fn optional(&self, place: usize) -> Option<&Tensor> {
        let name = self.step.inputs.get(place)?.as_str();
        self.values.get(name).or_else(|| self.constants.floats.get(name))
    }

    fn tensor(&self, place: usize) -> Result<&Tensor, TorchscriptError> {
        self.optional(place)
            .ok_or_else(|| self.failure(&format!("its input {place} is not known")))
    }

    fn ints(&self, place: usize) -> Result<&[i64], TorchscriptError> {
        let name = self.step.inputs.get(place).map(String::as_str);
        let known = name.and_then(|name| self.constants.ints.get(name));
        known
            .copied()
            .filter(|ints| !ints.is_empty())
            .ok_or_else(|| self.failure(&format!("its input {place} is not constant")))
    }

    fn attribute(&self, name: &str) -> Result<&[i64], TorchscriptError> {
        let known = self.step.attributes.get(name).map(Vec::as_slice);
        known
            .filter(|ints| !ints.is_empty())
            .ok_or_else(|| self.failure(&format!("it has no {name}")))
    }
}
