//! Small systems of linear equations with a symmetric positive definite matrix.

/// A symmetric matrix, row by row. Only positive definite matrices can be factored.
#[derive(Clone, Debug)]
pub(crate) struct Symmetric {
    side: usize,
    values: Vec<f64>,
}

impl Symmetric {
    pub(crate) fn zero(side: usize) -> Symmetric {
        Symmetric {
            side,
            values: vec![0.0; side * side],
        }
    }

    /// Adds to an entry and to its mirror image across the diagonal.
    pub(crate) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.side + column] += value;
        if row != column {
            self.values[column * self.side + row] += value;
        }
    }

    /// The lower triangle L with L Lᵀ = this matrix (Cholesky); `None` when the matrix is not positive definite.
    ///
    /// A row of L begins where the row of the matrix does, so rows that begin late take little time.
    pub(crate) fn cholesky(&self) -> Option<Cholesky> {
        let side = self.side;
        let first: Vec<usize> = (0..side)
            .map(|row| {
                let entries = &self.values[row * side..][..row];
                entries.iter().position(|&entry| entry != 0.0).unwrap_or(row)
            })
            .collect();
        let mut lower = vec![0.0; side * side];
        for row in 0..side {
            for column in first[row]..=row {
                let dot: f64 = (first[row].max(first[column])..column)
                    .map(|k| lower[row * side + k] * lower[column * side + k])
                    .sum();
                let rest = self.values[row * side + column] - dot;
                lower[row * side + column] = if row != column {
                    rest / lower[column * side + column]
                } else if rest > 1e-12 {
                    rest.sqrt()
                } else {
                    return None;
                };
            }
        }
        Some(Cholesky { side, lower, first })
    }
}

/// A matrix factored into L Lᵀ, with L lower triangular.
pub(crate) struct Cholesky {
    side: usize,
    lower: Vec<f64>,
    /// The first column of every row that is not 0.
    first: Vec<usize>,
}

impl Cholesky {
    /// Solves matrix × x = right.
    pub(crate) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = right.to_vec();
        for row in 0..self.side {
            let (before, entries) = (&x[self.first[row]..row], self.row(row));
            let dot: f64 = before.iter().zip(entries).map(|(x, entry)| x * entry).sum();
            x[row] = (x[row] - dot) / self.diagonal(row);
        }
        for row in (0..self.side).rev() {
            x[row] /= self.diagonal(row);
            let solved = x[row];
            let before = &mut x[self.first[row]..row];
            before
                .iter_mut()
                .zip(self.row(row))
                .for_each(|(x, entry)| *x -= entry * solved);
        }
        x
    }

    /// The entries of a row from its first one to before its last one, which is on the diagonal.
    fn row(&self, row: usize) -> &[f64] {
        &self.lower[row * self.side..][self.first[row]..row]
    }

    fn diagonal(&self, row: usize) -> f64 {
        self.lower[row * self.side + row]
    }

    /// A diagonal entry of the inverse matrix.
    pub(crate) fn inverse_diagonal(&self, index: usize) -> f64 {
        let mut unit = vec![0.0; self.side];
        unit[index] = 1.0;
        self.solve(&unit)[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_known_system() {
        let mut matrix = Symmetric::zero(3);
        for (row, column, value) in [
            (0, 0, 4.0),
            (1, 1, 5.0),
            (2, 2, 6.0),
            (1, 0, 1.0),
            (2, 0, 2.0),
            (2, 1, -1.0),
        ] {
            matrix.add(row, column, value);
        }
        let cholesky = matrix.cholesky().expect("positive definite");
        // 4·1 + 1·2 + 2·3 = 12, 1·1 + 5·2 − 1·3 = 8, 2·1 − 1·2 + 6·3 = 18.
        let x = cholesky.solve(&[12.0, 8.0, 18.0]);
        assert!(
            x.iter()
                .zip([1.0, 2.0, 3.0])
                .all(|(x, expected)| (x - expected).abs() < 1e-12),
            "{x:?}"
        );
        // An arrow: rows that begin late, and a last one that links all.
        let mut arrow = Symmetric::zero(4);
        for (row, column, value) in [(0, 0, 2.0), (1, 1, 3.0), (2, 2, 4.0), (3, 3, 9.0), (2, 1, 1.0)] {
            arrow.add(row, column, value);
        }
        (0..3).for_each(|column| arrow.add(3, column, 1.0));
        // Each row times (1, 2, 3, 4): 2 + 4, 6 + 3 + 4, 2 + 12 + 4, 1 + 2 + 3 + 36.
        let x = arrow
            .cholesky()
            .expect("positive definite")
            .solve(&[6.0, 13.0, 18.0, 42.0]);
        let mut both = x.iter().zip([1.0, 2.0, 3.0, 4.0]);
        assert!(both.all(|(x, expected)| (x - expected).abs() < 1e-12), "{x:?}");
        let mut flat = Symmetric::zero(2);
        flat.add(0, 0, 1.0);
        assert!(flat.cholesky().is_none());
        let mut diagonal = Symmetric::zero(1);
        diagonal.add(0, 0, 8.0);
        assert!((diagonal.cholesky().expect("positive").inverse_diagonal(0) - 0.125).abs() < 1e-12);
    }
}
