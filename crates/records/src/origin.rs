//! The source of an imported or labelled game, and the claims of its file.

use tengen_rules::Komi;

use crate::claimed_result::SgfResult;

/// A larger claimed komi, in points, is not a count of points of any board.
const MAX_KOMI: f64 = 361.0;

/// The file that a game was imported from, or the shard whose game was labelled, and what it claims, limited to the
/// first 4,096 bytes of each text. None of this was checked; checked facts are in the record itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the file; for an archive, including the name inside it.
    pub file: String,
    /// Number of the game in the file, counted from 1.
    pub game: u32,
    /// The result that the file claims, as written there.
    pub result: Option<String>,
    /// The komi that the file claims, as written there.
    pub komi: Option<String>,
    /// The rules that the file claims, as written there.
    pub rules: Option<String>,
    /// The claimed number of handicap stones.
    pub handicap: Option<u16>,
    /// Rank of the Black player.
    pub black_rank: Option<String>,
    /// Rank of the White player.
    pub white_rank: Option<String>,
    /// When the game was played.
    pub date: Option<String>,
    /// The event where the game was played.
    pub event: Option<String>,
    /// Who labelled the game's positions, and how: a JSON object with the teacher's name, hash, and settings. `None`
    /// for other games.
    pub teacher: Option<String>,
}

impl Origin {
    /// Parses the result that the file claims.
    pub fn claim(&self) -> SgfResult {
        self.result.as_deref().map_or(SgfResult::Unknown, SgfResult::parse)
    }

    /// The claimed result for a game with this komi: if the file claims another komi, a count changes by the
    /// difference, and nobody knows the winner of a game without a count.
    pub(crate) fn claim_at(&self, komi: Komi) -> SgfResult {
        let claim = self.claim();
        let claimed = self.komi_in_hundredths();
        match (
            claim,
            claimed.map(|claimed| claimed - 50 * i32::from(komi.half_points())),
        ) {
            (_, None | Some(0)) => claim,
            (SgfResult::Count { hundredths }, Some(more)) => SgfResult::Count {
                hundredths: hundredths + more,
            },
            (SgfResult::Won(_), Some(_)) => SgfResult::Unknown,
            (_, Some(_)) => claim,
        }
    }

    /// The claimed komi in hundredths of a point; `None` if there is none, or if it is not a number of points.
    fn komi_in_hundredths(&self) -> Option<i32> {
        let points: f64 = self.komi.as_deref()?.trim().replace(',', ".").parse().ok()?;
        (points.abs() <= MAX_KOMI).then(|| (100.0 * points).round() as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tengen_rules::Color;

    #[test]
    fn a_claimed_result_is_restated_for_another_komi() {
        let claim = |result: &str, komi: Option<&str>, half_points| {
            let origin = Origin {
                result: Some(result.to_owned()),
                komi: komi.map(str::to_owned),
                ..Origin::default()
            };
            origin.claim_at(Komi::from_half_points(half_points))
        };
        let count = |hundredths| SgfResult::Count { hundredths };
        assert_eq!(claim("B+24.5", Some("0.5"), 1), count(2450));
        assert_eq!(claim("B+24.5", Some("0,5"), 15), count(1750));
        assert_eq!(claim("B+0.5", Some(" 24.5 "), 51), count(-50));
        assert_eq!(claim("W+3", Some("-2"), 0), count(-500));
        assert_eq!(claim("B+3.25", Some("3.75"), 15), count(-50));
        // Without a number of points, the count stays.
        assert_eq!(claim("B+24.5", None, 15), count(2450));
        assert_eq!(claim("B+24.5", Some("375"), 15), count(2450));
        assert_eq!(claim("B+", Some("6.5"), 13), SgfResult::Won(Color::Black));
        assert_eq!(claim("B+", Some("6.5"), 15), SgfResult::Unknown);
        assert_eq!(claim("W+R", Some("6.5"), 15), SgfResult::Resignation(Color::White));
    }
}
