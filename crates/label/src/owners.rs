//! Converts the owners that a teacher expects to the form stored with a ply.

use tengen_rules::Color;

/// A map from the viewpoint of a side, −1 to 1 per point, as percent from 100 (Black) to −100 (White).
pub(crate) fn percents(map: &[f32], seen_by: Color) -> Vec<i8> {
    let sign = match seen_by {
        Color::Black => 100.0,
        Color::White => -100.0,
    };
    // Casts saturate, and numbers that are not finite were rejected before.
    map.iter()
        .map(|owner| (sign * owner.clamp(-1.0, 1.0)).round() as i8)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_from_blacks_viewpoint() {
        let map = [1.0, -1.0, 0.004, 0.006, -0.5, 1.000_001];
        assert_eq!(percents(&map, Color::Black), [100, -100, 0, 1, -50, 100]);
        assert_eq!(percents(&map, Color::White), [-100, 100, 0, -1, 50, -100]);
        assert!(percents(&[], Color::White).is_empty());
    }
}
