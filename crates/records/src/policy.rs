//! Rounds policy targets to multiples of 1/4096, which zstd compresses to about two bytes per move with negligible
//! loss.

/// Probabilities are multiples of 1 divided by this.
const PARTS: f32 = 4096.0;

/// Rounds a policy target to multiples of 1/4096 that sum to exactly 1, dropping moves that round to zero. The order is
/// kept, and the rounding error of an entry stays below 1/4096. Entries that are not positive numbers count as 0; a
/// target without any positive entry becomes empty.
pub fn compact_policy(entries: &[(u16, f32)]) -> Vec<(u16, f32)> {
    let positive = |p: f32| if p.is_finite() && p > 0.0 { f64::from(p) } else { 0.0 };
    let sum: f64 = entries.iter().map(|entry| positive(entry.1)).sum();
    if sum <= 0.0 {
        return Vec::new();
    }
    let exact: Vec<f64> = entries
        .iter()
        .map(|entry| positive(entry.1) / sum * f64::from(PARTS))
        .collect();
    let mut parts: Vec<u32> = exact.iter().map(|&part| part as u32).collect();
    let mut by_remainder: Vec<usize> = (0..entries.len()).collect();
    by_remainder.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()).then(a.cmp(&b)));
    let missing = (PARTS as u32).saturating_sub(parts.iter().sum());
    for &number in by_remainder.iter().take(missing as usize) {
        parts[number] += 1;
    }
    let kept = entries.iter().zip(parts).filter(|(_, part)| *part > 0);
    kept.map(|(&(index, _), part)| (index, part as f32 / PARTS)).collect()
}

#[cfg(test)]
mod tests {
    use super::compact_policy;

    #[test]
    fn targets_sum_to_one_and_stay_close() {
        for count in [1usize, 2, 3, 7, 82, 362] {
            let raw: Vec<f32> = (0..count).map(|n| ((n * 7919 + 13) % 101) as f32 + 0.01).collect();
            let sum: f32 = raw.iter().sum();
            let target: Vec<_> = raw.iter().enumerate().map(|(n, p)| (n as u16, p / sum)).collect();
            let compact = compact_policy(&target);
            assert_eq!(compact.iter().map(|entry| entry.1).sum::<f32>(), 1.0);
            assert!(compact.is_sorted_by_key(|entry| entry.0));
            for (index, p) in compact {
                assert!((p - target[usize::from(index)].1).abs() < 1.0 / 4096.0);
            }
        }
    }

    #[test]
    fn invalid_probabilities_count_as_zero() {
        let odd = [(0, f32::NAN), (1, -1.0), (2, 0.5), (3, f32::INFINITY), (4, 0.5)];
        assert_eq!(compact_policy(&odd), [(2, 0.5), (4, 0.5)]);
        assert_eq!(compact_policy(&[]), []);
        assert_eq!(compact_policy(&[(1, 0.0)]), []);
    }
}
