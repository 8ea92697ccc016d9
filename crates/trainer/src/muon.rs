//! The Muon optimizer. It changes a weight matrix by the orthogonal matrix closest to the mean gradient, so that all
//! directions are learned at the same speed, not only those with large gradients.
//!
//! Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024).

use std::collections::BTreeMap;

use tch::{Kind, Tensor};
use tengen_network::Matrix;

/// The coefficients of one Newton-Schulz iteration, which maps a singular value s to a s + b s^3 + c s^5. Five
/// iterations bring all singular values above 0.003 close to 1, between 0.6 and 1.3 (Jordan et al., 2024).
const COEFFICIENTS: [f64; 3] = [3.4445, -4.7750, 2.0315];

/// Number of Newton-Schulz iterations.
const ITERATIONS: usize = 5;

/// The root mean square of an update, in units of the learning rate: about that of AdamW, so that both use the same
/// rates and the same weight decay (Liu et al., "Muon is scalable for LLM training", 2025).
const SIZE: f64 = 0.2;

/// The matrices that Muon updates, grouped by shape, so that each group is computed in one batch.
#[derive(Debug, Default)]
pub(crate) struct Matrices {
    groups: Vec<Group>,
}

/// Matrices of one shape.
#[derive(Debug)]
struct Group {
    rows: usize,
    columns: usize,
    /// Offset of each matrix in the flat tensor of trained weights.
    starts: Vec<usize>,
}

impl Matrices {
    pub(crate) fn new(matrices: &[Matrix]) -> Matrices {
        let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for matrix in matrices {
            groups
                .entry((matrix.rows, matrix.columns))
                .or_default()
                .push(matrix.start);
        }
        let group = |((rows, columns), starts)| Group { rows, columns, starts };
        Matrices {
            groups: groups.into_iter().map(group).collect(),
        }
    }

    /// Writes the updates of the matrices to `change`, which is subtracted from the weights. `mean` is the running mean
    /// of the gradients with decay rate `decay`, including `gradient`; all are flat. Uses Nesterov momentum. `rate` is
    /// a scalar tensor.
    pub(crate) fn replace(&self, change: &mut Tensor, mean: &Tensor, gradient: &Tensor, decay: f64, rate: &Tensor) {
        for group in &self.groups {
            let ahead = group.of(gradient).lerp(&group.of(mean), decay);
            let size = SIZE * (group.rows.max(group.columns) as f64).sqrt();
            group.write(change, &(orthogonal(&ahead) * size * rate));
        }
    }
}

impl Group {
    /// The group's matrices in a flat tensor, `[matrices, rows, columns]`.
    fn of(&self, flat: &Tensor) -> Tensor {
        let matrices: Vec<Tensor> = self.starts.iter().map(|&start| self.view(flat, start)).collect();
        Tensor::stack(&matrices, 0)
    }

    /// Writes the group's matrices, `[matrices, rows, columns]`, to a flat tensor.
    fn write(&self, flat: &mut Tensor, matrices: &Tensor) {
        for (number, &start) in self.starts.iter().enumerate() {
            self.view(flat, start).copy_(&matrices.get(number as i64));
        }
    }

    fn view(&self, flat: &Tensor, start: usize) -> Tensor {
        let (rows, columns) = (self.rows as i64, self.columns as i64);
        flat.narrow(0, start as i64, rows * columns).view([rows, columns])
    }
}

/// The orthogonal matrix nearest to each matrix of `[matrices, rows, columns]`, approximately: the same singular
/// vectors, with singular values close to 1.
fn orthogonal(matrices: &Tensor) -> Tensor {
    let tall = matrices.size()[1] > matrices.size()[2];
    let wide = if tall {
        matrices.transpose(1, 2)
    } else {
        matrices.shallow_clone()
    };
    let norms = wide
        .square()
        .sum_dim_intlist([1i64, 2].as_slice(), true, Kind::Float)
        .sqrt();
    let [a, b, c] = COEFFICIENTS;
    let mut x = &wide / (norms + 1e-7);
    for _ in 0..ITERATIONS {
        let square = x.bmm(&x.transpose(1, 2));
        let polynomial = &square * b + square.bmm(&square) * c;
        x = &x * a + polynomial.bmm(&x);
    }
    if tall { x.transpose(1, 2) } else { x }
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;

    fn read(tensor: &Tensor) -> Vec<f64> {
        Vec::try_from(tensor.to_kind(Kind::Double).reshape([-1])).expect("numbers")
    }

    #[test]
    fn singular_values_become_one_and_directions_stay() {
        tengen_network::limit_threads();
        tch::manual_seed(1);
        for shape in [[3, 8, 20], [2, 20, 8], [1, 6, 6]] {
            let matrices = Tensor::randn(shape, (Kind::Float, Device::Cpu)) * 0.01;
            let found = orthogonal(&matrices);
            assert_eq!(found.size(), matrices.size());
            let (left, _, right) = matrices.svd(true, true);
            let inside = left.transpose(1, 2).bmm(&found).bmm(&right);
            let values = inside.diagonal(0, 1, 2);
            let values_seen = read(&values);
            assert!(
                values_seen.iter().all(|value| (0.5..1.4).contains(value)),
                "{values_seen:?}"
            );
            let beside = inside - values.diag_embed(0, 1, 2);
            assert!(read(&beside).iter().all(|value| value.abs() < 1e-3), "{beside:?}");
        }
        let zero = Tensor::zeros([1, 2, 3], (Kind::Float, Device::Cpu));
        assert_eq!(read(&orthogonal(&zero)), [0.0; 6]);
    }

    #[test]
    fn only_the_matrices_are_replaced() {
        tengen_network::limit_threads();
        let matrix = |start| Matrix {
            start,
            rows: 2,
            columns: 3,
        };
        let matrices = Matrices::new(&[matrix(1), matrix(8)]);
        let ones = Tensor::ones([15], (Kind::Float, Device::Cpu));
        let gradient = Tensor::arange(15, (Kind::Float, Device::Cpu));
        let mut change = ones.copy();
        let rate = Tensor::from(0.1f32);
        matrices.replace(&mut change, &gradient, &gradient, 0.9, &rate);
        let found = read(&change);
        assert_eq!([found[0], found[7], found[14]], [1.0; 3]);
        let second = orthogonal(&gradient.narrow(0, 8, 6).view([1, 2, 3]));
        assert_eq!(found[8..14], read(&(second * (SIZE * 3f64.sqrt()) * rate)));
        let size = (found[1..7].iter().map(|value| value * value).sum::<f64>() / 6.0).sqrt();
        assert!((0.01..0.03).contains(&size), "{size} is about the rate times {SIZE}");
    }
}
