//! What does a network say of a position by itself, and how is that written for `kata-raw-nn`?

use std::fmt::Write;

use tengen_rules::Size;

/// A network's judgement of one position, all seen by White.
#[derive(Clone, Debug, PartialEq)]
pub struct RawNetwork {
    /// The symmetry of the square under which the position was shown, 0 to 7.
    pub symmetry: usize,
    /// Probability that White wins, a tie counting half, 0 to 1.
    pub white_win: f32,
    /// Expected margin after komi, in points, positive when White leads.
    pub white_lead: f32,
    /// Probability of every point as the next move, in reading order; `None` where a play is illegal.
    pub policy: Vec<Option<f32>>,
    /// Probability of a pass.
    pub pass: f32,
    /// Expected owner of every point in reading order, −1 (Black) to 1 (White); empty where not predicted.
    pub ownership: Vec<f32>,
}

impl RawNetwork {
    /// The form of KataGo's `kata-raw-nn`, with those of its keys that mean something here.
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
    fn keys_stand_as_katago_writes_them() {
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
