//! Parsing the arguments of `lz-analyze` and `kata-analyze` and formatting their reports.
//!
//! The formats follow Leela Zero's README ("GTP extensions") and KataGo's `docs/GTP_Extensions.md`.

use std::fmt::Write;

use tengen_rules::{Color, Move, Size};

/// The program whose output format is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisStyle {
    /// Leela Zero: winrates and priors as integers of 1/10,000.
    Lz,
    /// KataGo: fractions, score lead, ownership.
    Kata,
}

/// A parsed analysis command, such as `lz-analyze` or `kata-analyze`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalyzeRequest {
    /// The output format, which depends on the command's name.
    pub style: AnalysisStyle,
    /// The color to analyze for, if the command names one.
    pub color: Option<Color>,
    /// Time between two reports, in hundredths of a second; at least 1.
    pub interval_cs: u32,
    /// Report at least this many moves, if there are that many.
    pub min_moves: usize,
    /// Report at most this many moves.
    pub max_moves: usize,
    /// Report ownership (KataGo style only).
    pub ownership: bool,
    /// Report the root's own values (KataGo style only).
    pub root_info: bool,
    /// Restrictions on the first move of the analysis.
    pub restrictions: Restrictions,
}

impl AnalyzeRequest {
    /// A command without arguments: all defaults, no restrictions.
    pub fn plain(style: AnalysisStyle) -> AnalyzeRequest {
        AnalyzeRequest {
            style,
            color: None,
            interval_cs: 100,
            min_moves: 0,
            max_moves: usize::MAX,
            ownership: false,
            root_info: false,
            restrictions: Restrictions::default(),
        }
    }

    /// Parses the arguments: `[color] [interval] {keyword value}`. `avoid` and `allow` take a color, comma-separated
    /// points, and a number of moves; they restrict only the first move of the analysis, whatever that number is.
    /// Unknown keywords and their values are skipped, as the extensions require.
    ///
    /// # Errors
    /// A message that names the invalid argument.
    pub fn parse(style: AnalysisStyle, args: &[String], size: Size) -> Result<AnalyzeRequest, String> {
        let mut request = AnalyzeRequest::plain(style);
        let mut args = args.iter().map(String::as_str).peekable();
        if let Some(color) = args.peek().and_then(|word| parse_color(word)) {
            request.color = Some(color);
            args.next();
        }
        if let Some(interval) = args.peek().and_then(|word| word.parse().ok()) {
            request.set_interval(interval);
            args.next();
        }
        while let Some(key) = args.next() {
            let key = key.to_ascii_lowercase();
            let mut value = || args.next().ok_or_else(|| format!("{key} has no value"));
            match key.as_str() {
                "avoid" | "allow" => {
                    let moves = restriction([value()?, value()?, value()?], size)?;
                    match key.as_str() {
                        "avoid" => request.restrictions.avoid.extend(moves),
                        _ => request.restrictions.allow.extend(moves),
                    }
                }
                _ => request.set(&key, value()?)?,
            }
        }
        Ok(request)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("bad value for {key}: {value}");
        match key {
            "interval" => self.set_interval(value.parse().map_err(|_| wrong())?),
            "minmoves" => self.min_moves = value.parse().map_err(|_| wrong())?,
            "maxmoves" => self.max_moves = value.parse().map_err(|_| wrong())?,
            "ownership" => self.ownership = value.parse().map_err(|_| wrong())?,
            "rootinfo" => self.root_info = value.parse().map_err(|_| wrong())?,
            _ => {}
        }
        Ok(())
    }

    fn set_interval(&mut self, centiseconds: f64) {
        self.interval_cs = (centiseconds as u32).max(1);
    }
}

/// Restrictions on the first move of an analysis; deeper in the tree, all moves are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Moves the analysis may not begin with, by color.
    pub avoid: Vec<(Color, Move)>,
    /// If there are any for a color, the only moves the analysis may begin with.
    pub allow: Vec<(Color, Move)>,
}

impl Restrictions {
    /// Whether every move of `color` may begin the analysis.
    pub fn allow_all(&self, color: Color) -> bool {
        !self.avoid.iter().chain(&self.allow).any(|&(other, _)| other == color)
    }

    /// Whether the analysis may begin with this move of `color`.
    pub fn allow(&self, color: Color, mv: Move) -> bool {
        let listed = self.allow.iter().any(|&(other, _)| other == color);
        !self.avoid.contains(&(color, mv)) && (!listed || self.allow.contains(&(color, mv)))
    }
}

/// Parses the values of `avoid` or `allow`: color, points, number of moves.
fn restriction([color, points, moves]: [&str; 3], size: Size) -> Result<Vec<(Color, Move)>, String> {
    let color = parse_color(color).ok_or_else(|| format!("bad color to restrict: {color}"))?;
    let moves = moves
        .parse::<u32>()
        .map_err(|_| format!("bad number of moves to restrict: {moves}"));
    let point = |text: &str| {
        let mv = Move::parse(size, text).map_err(|_| format!("bad point to restrict: {text}"))?;
        Ok((color, mv))
    };
    moves.and(points.split(',').filter(|text| !text.is_empty()).map(point).collect())
}

/// Parses `b`, `black`, `w` or `white` in any case.
pub(crate) fn parse_color(word: &str) -> Option<Color> {
    match word.to_ascii_lowercase().as_str() {
        "b" | "black" => Some(Color::Black),
        "w" | "white" => Some(Color::White),
        _ => None,
    }
}

/// An engine's analysis of a position. All values are from the viewpoint of the side to move.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PositionAnalysis {
    /// Candidate moves, best first.
    pub moves: Vec<AnalyzedMove>,
    /// Total visits of the search.
    pub visits: u32,
    /// Win probability of the side to move, 0 to 1, where a tie counts as half.
    pub winrate: f32,
    /// Expected margin in points after komi, positive if the side to move is ahead.
    pub score_lead: f32,
    /// The value that the search maximizes, −1 to 1 unless the komi makes larger margins possible.
    pub utility: f32,
    /// `winrate` from the network alone, without search.
    pub raw_winrate: f32,
    /// `score_lead` from the network alone, without search.
    pub raw_lead: f32,
    /// Ownership per point in reading order, +1 = side to move, −1 = opponent; `None` if unknown.
    pub ownership: Option<Vec<f32>>,
    /// The network's probability for every point in reading order and for the pass, −1 for illegal moves; `None` if not
    /// requested.
    pub policy: Option<Vec<f32>>,
}

/// One candidate move. All values are from the viewpoint of the side to move.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalyzedMove {
    /// The analyzed move of the side to move.
    pub mv: Move,
    /// Visits spent on the move.
    pub visits: u32,
    /// Win probability after the move, 0 to 1, where a tie counts as half.
    pub winrate: f32,
    /// The lower bound of a 95% confidence interval of `winrate`.
    pub lcb: f32,
    /// Expected margin in points after komi.
    pub score_lead: f32,
    /// The value that the search maximizes.
    pub utility: f32,
    /// The network's probability for the move, 0 to 1.
    pub prior: f32,
    /// The principal variation, beginning with the move itself; an empty list means just the move.
    pub pv: Vec<Move>,
    /// The visits of each move of `pv`.
    pub pv_visits: Vec<u32>,
    /// Ownership per point after the move, in the same form as for the position; `None` if unknown or not requested.
    pub ownership: Option<Vec<f32>>,
}

impl PositionAnalysis {
    /// The report as one line without its newline; empty if there is no move to report.
    pub fn line(&self, size: Size, request: &AnalyzeRequest) -> String {
        let mut line = String::new();
        let shown = self.moves.iter().enumerate();
        let worth = |&(order, mv): &(usize, &AnalyzedMove)| mv.visits > 0 || order < request.min_moves.max(1);
        for (order, mv) in shown.filter(worth).take(request.max_moves) {
            if !line.is_empty() {
                line.push(' ');
            }
            mv.write(&mut line, size, order, request.style);
        }
        if request.style == AnalysisStyle::Kata && !line.is_empty() {
            self.write_root(&mut line, request);
        }
        line
    }

    fn write_root(&self, line: &mut String, request: &AnalyzeRequest) {
        if request.root_info {
            let (winrate, lead) = (finite(self.winrate), finite(self.score_lead));
            let _ = write!(
                line,
                " rootInfo visits {} winrate {winrate:.6} scoreLead {lead:.4}",
                self.visits
            );
        }
        if let Some(ownership) = self.ownership.as_ref().filter(|_| request.ownership) {
            line.push_str(" ownership");
            ownership.iter().for_each(|&value| {
                let _ = write!(line, " {:.4}", finite(value));
            });
        }
    }
}

impl AnalyzedMove {
    fn write(&self, line: &mut String, size: Size, order: usize, style: AnalysisStyle) {
        let (winrate, prior, lead) = (finite(self.winrate), finite(self.prior), finite(self.score_lead));
        let lcb = finite(self.lcb).clamp(0.0, 1.0);
        let name = gtp_move(size, self.mv);
        let _ = match style {
            AnalysisStyle::Lz => {
                let [w, p, l] = [winrate, prior, lcb].map(|share| (share * 10_000.0).round() as i32);
                write!(
                    line,
                    "info move {name} visits {} winrate {w} prior {p} lcb {l} order {order} pv",
                    self.visits
                )
            }
            AnalysisStyle::Kata => write!(
                line,
                "info move {name} visits {} winrate {winrate:.6} scoreMean {lead:.4} scoreLead {lead:.4} \
                 prior {prior:.6} lcb {lcb:.6} order {order} pv",
                self.visits
            ),
        };
        let own = [self.mv];
        let pv = if self.pv.is_empty() { &own[..] } else { &self.pv };
        pv.iter().for_each(|&mv| {
            let _ = write!(line, " {}", gtp_move(size, mv));
        });
    }
}

fn finite(value: f32) -> f32 {
    if value.is_finite() { value } else { 0.0 }
}

/// A move in GTP notation.
pub(crate) fn gtp_move(size: Size, mv: Move) -> String {
    mv.format(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(style: AnalysisStyle, text: &str) -> Result<AnalyzeRequest, String> {
        let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        AnalyzeRequest::parse(style, &args, Size::square(9).expect("a size"))
    }

    fn analysis() -> PositionAnalysis {
        let size = Size::square(5).expect("a size");
        let mv = |text: &str| Move::parse(size, text).expect("a move");
        let one = |text: &str, visits| AnalyzedMove {
            mv: mv(text),
            visits,
            winrate: 0.75,
            lcb: 0.7,
            score_lead: 2.5,
            utility: 0.4,
            prior: 0.5,
            pv: vec![mv(text), Move::Pass],
            pv_visits: vec![visits, 1],
            ownership: None,
        };
        PositionAnalysis {
            moves: vec![one("C3", 10), one("A1", 0)],
            visits: 11,
            winrate: 0.7,
            score_lead: f32::NAN,
            ownership: Some(vec![1.0, -0.5]),
            ..PositionAnalysis::default()
        }
    }

    #[test]
    fn arguments_are_parsed() {
        let parsed = request(
            AnalysisStyle::Kata,
            "w 50 ownership true rootInfo true maxmoves 3 avoid b C3,pass 5 allow w D4,E5 2 x y",
        )
        .expect("fine");
        assert_eq!(parsed.color, Some(Color::White));
        assert_eq!((parsed.interval_cs, parsed.max_moves), (50, 3));
        assert!(parsed.ownership && parsed.root_info);
        let mv = |text| Move::parse(Size::square(9).expect("a size"), text).expect("a move");
        let moves = &parsed.restrictions;
        assert!(!moves.allow(Color::Black, mv("C3")) && !moves.allow(Color::Black, Move::Pass));
        assert!(moves.allow(Color::Black, mv("D4")) && moves.allow(Color::White, mv("D4")));
        assert!(!moves.allow(Color::White, mv("C3")) && !moves.allow_all(Color::White));
        let plain = request(AnalysisStyle::Lz, "").expect("fine");
        assert!(plain.restrictions.allow_all(Color::Black));
        for bad in ["avoid b C3", "avoid x C3 1", "allow b Z3 1", "avoid b C3 many"] {
            assert!(request(AnalysisStyle::Lz, bad).is_err(), "{bad}");
        }
        assert_eq!(request(AnalysisStyle::Lz, "interval 7").expect("fine").interval_cs, 7);
        assert_eq!(request(AnalysisStyle::Lz, "0").expect("fine").interval_cs, 1);
        assert!(request(AnalysisStyle::Lz, "interval").is_err());
        assert!(request(AnalysisStyle::Lz, "interval x").is_err());
    }

    #[test]
    fn both_styles_are_formatted() {
        let size = Size::square(5).expect("a size");
        let lz = analysis().line(size, &request(AnalysisStyle::Lz, "").expect("fine"));
        assert_eq!(
            lz,
            "info move C3 visits 10 winrate 7500 prior 5000 lcb 7000 order 0 pv C3 pass"
        );
        let kata = analysis().line(
            size,
            &request(AnalysisStyle::Kata, "minmoves 2 ownership true rootInfo true").expect("fine"),
        );
        assert!(
            kata.starts_with("info move C3 visits 10 winrate 0.750000 scoreMean 2.5000"),
            "{kata}"
        );
        assert!(kata.contains(" info move A1 visits 0 "), "{kata}");
        assert!(
            kata.ends_with("rootInfo visits 11 winrate 0.700000 scoreLead 0.0000 ownership 1.0000 -0.5000"),
            "{kata}"
        );
        assert_eq!(
            PositionAnalysis::default().line(size, &request(AnalysisStyle::Kata, "").expect("fine")),
            ""
        );
    }
}
