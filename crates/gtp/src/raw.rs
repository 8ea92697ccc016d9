//! A network's output for a position without search, and its format for `kata-raw-nn`.

use std::fmt::Write;

use tengen_rules::Size;

/// A network's output for one position, from White's viewpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct RawNetwork {
    /// The symmetry of the square applied to the position, 0 to 7.
    pub symmetry: usize,
    /// White's win probability, 0 to 1, where a tie counts as half.
    pub white_win: f32,
    /// Expected margin after komi in points, positive if White is ahead.
    pub white_lead: f32,
    /// Probability of every point as the next move, in reading order; `None` if illegal.
    pub policy: Vec<Option<f32>>,
    /// The policy's probability of a pass, 0 to 1.
    pub pass: f32,
    /// Expected owner of every point in reading order, −1 (Black) to 1 (White); empty if not predicted.
    pub ownership: Vec<f32>,
}

impl RawNetwork {
    /// The text in the format of KataGo's `kata-raw-nn`, with those of its keys that apply here.
    pub(crate) fn text(&self, size: Size) -> String {
        let mut text = format!(
            "symmetry {}\nwhiteWin {:.6}\nwhiteLoss {:.6}\nnoResult 0.000000\nwhiteLead {:.4}\npolicy\n",
            self.symmetry,
            self.white_win,
            1.0 - self.white_win,
            self.white_lead
        );
        write_rows(&mut text, size, self.policy.iter().copied());
        let _ = write!(text, "policyPass {:.6}", self.pass);
        if !self.ownership.is_empty() {
            text.push_str("\nwhiteOwnership\n");
            write_rows(&mut text, size, self.ownership.iter().copied().map(Some));
        }
        text.trim_end().to_owned()
    }
}

/// One line for each row of the board.
fn write_rows(text: &mut String, size: Size, values: impl Iterator<Item = Option<f32>>) {
    for (index, value) in values.enumerate() {
        let number = value.map_or("NAN".to_owned(), |value| format!("{value:.6}"));
        let end = if (index + 1) % size.width() == 0 { "\n" } else { " " };
        let _ = write!(text, "{number}{end}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_has_katagos_format() {
        let raw = RawNetwork {
            symmetry: 3,
            white_win: 0.25,
            white_lead: -1.5,
            policy: vec![Some(0.5), None],
            pass: 0.5,
            ownership: vec![-1.0, 0.0],
        };
        let size = Size::new(2, 1).expect("a size");
        let expected = "symmetry 3\nwhiteWin 0.250000\nwhiteLoss 0.750000\nnoResult 0.000000\nwhiteLead -1.5000\n\
                        policy\n0.500000 NAN\npolicyPass 0.500000\nwhiteOwnership\n-1.000000 0.000000";
        assert_eq!(raw.text(size), expected);
        let without = RawNetwork {
            ownership: Vec::new(),
            ..raw
        };
        assert!(without.text(size).ends_with("policyPass 0.500000"));
    }
}
