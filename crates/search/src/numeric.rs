//! The numeric kernels of the search, written so that the compiler can vectorize them.

/// e^x, accurate to about 2 units in the last place for x from −87 to 87; 0 below that range, clamped above.
///
/// Implemented here (argument reduction and the polynomial of the Cephes library) because loops over it vectorize and
/// because the result is bit-identical on every machine.
#[inline]
pub(crate) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to an integer
    let clamped = x.clamp(-87.0, 87.0);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = clamped - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let mut p = 1.987_569_2e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 0.166_666_66;
    p = p * r + 0.5;
    let mantissa = p * r * r + r + 1.0;
    let power = f32::from_bits(((shifted.to_bits() << 23) as i32).wrapping_add(127 << 23) as u32);
    let value = mantissa * power;
    if x < -87.0 { 0.0 } else { value }
}

/// Turns logits into probabilities in place. Returns false if they have no finite sum; the values are then invalid.
pub(crate) fn softmax(values: &mut [f32]) -> bool {
    let max = maximum(values);
    if !max.is_finite() {
        return false;
    }
    for value in values.iter_mut() {
        *value = exp(*value - max);
    }
    let sum: f32 = lane_sum(values);
    if !sum.is_finite() || sum <= 0.0 {
        return false;
    }
    let scale = 1.0 / sum;
    for value in values.iter_mut() {
        *value *= scale;
    }
    true
}

/// The largest value; negative infinity for an empty slice.
#[inline]
pub(crate) fn maximum(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    let mut max = f32::NEG_INFINITY;
    for &value in lanes.iter().chain(rest) {
        max = if value > max { value } else { max };
    }
    max
}

/// The index of the first largest value of a nonempty slice.
#[inline]
pub(crate) fn index_of_maximum(values: &[f32]) -> usize {
    let max = maximum(values);
    values.iter().position(|&value| value == max).unwrap_or(0)
}

/// The sum, computed in eight lanes in a fixed order.
fn lane_sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let chunks = values.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_accurate_everywhere() {
        for step in -8700..=8700 {
            let x = step as f32 / 100.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 4e-7, "exp({x}) is off by {error}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-200.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn softmax_sums_to_one_and_rejects_invalid_input() {
        let mut values: Vec<f32> = (0..82).map(|i| (i % 7) as f32 - 3.0).collect();
        assert!(softmax(&mut values));
        assert!((values.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(!softmax(&mut [f32::NAN, 0.0]));
        assert!(!softmax(&mut [f32::INFINITY, 0.0]));
        assert!(!softmax(&mut [f32::NEG_INFINITY, f32::NEG_INFINITY]));
    }

    #[test]
    fn the_first_maximum_wins() {
        let mut values = vec![0.0; 20];
        values[11] = 2.0;
        values[17] = 2.0;
        assert_eq!(index_of_maximum(&values), 11);
        assert_eq!(maximum(&[]), f32::NEG_INFINITY);
    }
}
