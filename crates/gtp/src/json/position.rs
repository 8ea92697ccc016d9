//! Reading the game that a query is about, and its positions at the turns to analyze.

use serde_json::Value;

use tengen_rules::{Color, Handicap, Komi, Move, Point, Position, Rules, Setup, Size};

use super::fields::{Fields, Problem, shown};
use crate::analysis::{Restrictions, parse_color};
use crate::game::{Game, GameError};
use crate::rules::read_rules;

/// The largest komi that KataGo accepts, in points.
const MAX_KOMI: f64 = 150.0;

/// The game that a query describes.
pub(super) struct DescribedGame {
    start: Game,
    first: Color,
    moves: Vec<(Color, Move)>,
}

impl DescribedGame {
    /// Reads the board size, the initial stones and the moves.
    pub(super) fn read(fields: Fields<'_>, rules: Rules, komi: Komi) -> Result<DescribedGame, Problem> {
        let size = size(fields)?;
        fields.required("moves", "a list of pairs such as [\"B\",\"C4\"], empty for none")?;
        let moves = turns(fields, "moves", size)?;
        let stones = stones(fields, size)?;
        let first = first_player(fields, &moves, &stones)?;
        let setup = Setup {
            handicap: handicap(&stones),
            stones,
            to_move: first,
        };
        let start = Game::starting(size, rules, komi, &setup)
            .map_err(|error| Problem::about("initialStones", format!("invalid starting position: {error}")))?;
        Ok(DescribedGame { start, first, moves })
    }

    /// The number of moves of the game.
    pub(super) fn turns(&self) -> usize {
        self.moves.len()
    }

    /// The komi of the game.
    pub(super) fn komi(&self) -> Komi {
        self.start.komi()
    }

    /// The size of the board.
    pub(super) fn size(&self) -> Size {
        self.start.size()
    }

    /// The positions at these turns, given in ascending order, each with the side to move that the query implies.
    pub(super) fn positions(self, turns: &[usize]) -> Result<Vec<Position>, Problem> {
        let mut wanted = turns.iter().peekable();
        let mut found = Vec::with_capacity(turns.len());
        let mut game = self.start;
        let mut to_move = self.first;
        for turn in 0..=self.moves.len() {
            if wanted.next_if(|&&wanted| wanted == turn).is_some() {
                found.push(open_position(&game, to_move, turn)?);
            }
            let Some(&(color, mv)) = self.moves.get(turn) else {
                break;
            };
            game.play(color, mv).map_err(|error| {
                let (letter, name) = (color.letter().to_ascii_uppercase(), mv.format(game.size()));
                let reason = match error {
                    GameError::Illegal(reason) => reason.to_string(),
                    other => other.to_string(),
                };
                Problem::about("moves", format!("Illegal move {turn}: {letter} {name}: {reason}"))
            })?;
            to_move = color.opposite();
        }
        Ok(found)
    }
}

/// The position with this side to move, or an error if the game is over.
fn open_position(game: &Game, to_move: Color, turn: usize) -> Result<Position, Problem> {
    let position = game.position_for(to_move);
    match position.is_over() {
        true => Err(Problem::about(
            "analyzeTurns",
            format!("the game is over at turn {turn}: tied by a long cycle"),
        )),
        false => Ok(position),
    }
}

fn size(fields: Fields<'_>) -> Result<Size, Problem> {
    let side = |field| {
        fields.required(field, "a whole number from 1 to 19")?;
        let side = fields.whole(field, 1, tengen_rules::MAX_SIDE as i64)?;
        Ok(side.unwrap_or_default() as usize)
    };
    let (width, height) = (side("boardXSize")?, side("boardYSize")?);
    Size::new(width, height).map_err(|error| Problem::about("boardXSize", error.to_string()))
}

/// The rules of the query, as text or an object in the format of `kata-set-rules`, or the forced rules that override
/// them, with a warning if they differ.
pub(super) fn rules(fields: Fields<'_>, forced: Option<Rules>) -> Result<(Rules, Option<Problem>), Problem> {
    let asked = match fields.get("rules") {
        Some(Value::String(text)) => read_rules(text),
        Some(object @ Value::Object(_)) => read_rules(&object.to_string()),
        Some(other) => Err(format!(
            "expected the name of a rule set or an object, found {}",
            shown(other)
        )),
        None => Err("'rules' is missing: expected a name such as tromp-taylor, or an object".to_owned()),
    };
    let asked = asked.and_then(|rules| with_bonus(fields, rules));
    match (asked, forced) {
        (Ok(rules), Some(forced)) if rules != forced => Ok((
            forced,
            Some(Problem::about(
                "rules",
                format!("analyzed under the forced rules {forced} instead of {rules}"),
            )),
        )),
        (Err(reason), Some(forced)) => Ok((
            forced,
            Some(Problem::about(
                "rules",
                format!("analyzed under the forced rules {forced}: {reason}"),
            )),
        )),
        (asked, _) => Ok((asked.map_err(|reason| Problem::about("rules", reason))?, None)),
    }
}

/// The rules with the handicap bonus that the query specifies separately.
fn with_bonus(fields: Fields<'_>, mut rules: Rules) -> Result<Rules, String> {
    use tengen_rules::HandicapBonus;
    let Some(bonus) = fields.get("whiteHandicapBonus") else {
        return Ok(rules);
    };
    let text = bonus
        .as_str()
        .map_or_else(|| bonus.to_string(), str::to_ascii_uppercase);
    rules.handicap_bonus = match text.as_str() {
        "0" => HandicapBonus::Nothing,
        "N" => HandicapBonus::Stones,
        "N-1" => HandicapBonus::StonesButOne,
        _ => {
            return Err(format!(
                "expected a whiteHandicapBonus of 0, N or N-1, found {}",
                shown(bonus)
            ));
        }
    };
    Ok(rules)
}

/// The komi, or `default` if none is given.
pub(super) fn komi(fields: Fields<'_>, default: Komi) -> Result<Komi, Problem> {
    let Some(points) = fields.number("komi", -MAX_KOMI, MAX_KOMI)? else {
        return Ok(default);
    };
    let half_points = points * 2.0;
    if half_points.fract() != 0.0 {
        let message = format!("expected whole or half points, found {points}");
        return Err(Problem::about("komi", message));
    }
    Ok(Komi::from_half_points(half_points as i16))
}

/// A list of pairs of color and move.
fn turns(fields: Fields<'_>, field: &str, size: Size) -> Result<Vec<(Color, Move)>, Problem> {
    let turn = |(number, value): (usize, &Value)| {
        let pair = value.as_array().filter(|pair| pair.len() == 2);
        let color = pair.and_then(|pair| parse_color(pair[0].as_str()?));
        let place = pair.and_then(|pair| pair[1].as_str());
        let (Some(color), Some(place)) = (color, place) else {
            let message = format!(
                "expected pairs such as [\"B\",\"C4\"], found {} at number {number}",
                shown(value)
            );
            return Err(Problem::about(field, message));
        };
        Ok((color, read_move(field, place, size)?))
    };
    fields.list(field)?.iter().enumerate().map(turn).collect()
}

/// A move in GTP notation, or a point as `(column,row)`, counted from 0 at the top left corner.
fn read_move(field: &str, text: &str, size: Size) -> Result<Move, Problem> {
    let wrong = |error: tengen_rules::ParsePointError| Problem::about(field, format!("on a {size} board: {error}"));
    match coordinates(text) {
        Some([column, row]) => match size.point(column, row) {
            Some(point) => Ok(Move::Play(point)),
            None => Err(Problem::about(field, format!("{text} is not on a {size} board"))),
        },
        None => Move::parse(size, text.trim()).map_err(wrong),
    }
}

fn coordinates(text: &str) -> Option<[usize; 2]> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let (column, row) = inner.split_once(',')?;
    Some([column.trim().parse().ok()?, row.trim().parse().ok()?])
}

/// The stones before the first move, by color.
fn stones(fields: Fields<'_>, size: Size) -> Result<[tengen_rules::PointSet; 2], Problem> {
    let field = "initialStones";
    let mut stones = Setup::EVEN.stones;
    for (color, mv) in turns(fields, field, size)? {
        let point: Point = mv
            .point()
            .ok_or_else(|| Problem::about(field, "expected a point, found a pass".to_owned()))?;
        if stones[color.opposite().index()].contains(point) {
            let place = mv.format(size);
            let message = format!("{place} has stones of both colors");
            return Err(Problem::about(field, message));
        }
        stones[color.index()].insert(point);
    }
    Ok(stones)
}

/// The player who takes the first turn: as specified, else the player of the first move, else White after handicap
/// stones, else Black.
fn first_player(
    fields: Fields<'_>,
    moves: &[(Color, Move)],
    stones: &[tengen_rules::PointSet; 2],
) -> Result<Color, Problem> {
    let field = "initialPlayer";
    let said = fields.text(field)?;
    let read =
        |text| parse_color(text).ok_or_else(|| Problem::about(field, format!("expected B or W, found {text:?}")));
    match (said.map(read).transpose()?, moves.first(), handicap(stones)) {
        (Some(color), ..) | (None, Some(&(color, _)), _) => Ok(color),
        (None, None, Handicap::Even) => Ok(Color::Black),
        (None, None, _) => Ok(Color::White),
    }
}

/// As in KataGo, two or more black stones and no white ones at the start are a handicap.
fn handicap(stones: &[tengen_rules::PointSet; 2]) -> Handicap {
    let [black, white] = [Color::Black, Color::White].map(|color| stones[color.index()].len());
    match u16::try_from(black) {
        Ok(count @ 2..) if white == 0 => Handicap::Fixed(count),
        _ => Handicap::Even,
    }
}

/// The restrictions on the first move, with warnings for those that also apply deeper in the tree, which is ignored.
pub(super) fn restrictions(fields: Fields<'_>, size: Size) -> Result<(Restrictions, Vec<Problem>), Problem> {
    let mut warnings = Vec::new();
    let mut read = |field: &str| -> Result<Vec<(Color, Move)>, Problem> {
        let mut found = Vec::new();
        for entry in fields.list(field)? {
            let (moves, deeper) = restriction(field, entry, size)?;
            found.extend(moves);
            if deeper {
                let message = "only the first move of the analysis is restricted, as if untilDepth were 1";
                warnings.push(Problem::about(field, message));
            }
        }
        Ok(found)
    };
    let (avoid, allow) = (read("avoidMoves")?, read("allowMoves")?);
    warnings.dedup();
    Ok((Restrictions { avoid, allow }, warnings))
}

fn restriction(field: &str, entry: &Value, size: Size) -> Result<(Vec<(Color, Move)>, bool), Problem> {
    let in_field = |problem: Problem| Problem::about(field, problem.message);
    let expected = || {
        let message = format!(
            "expected objects with player, moves and untilDepth, found {}",
            shown(entry)
        );
        Problem::about(field, message)
    };
    let entry_fields = Fields(entry.as_object().ok_or_else(expected)?);
    let player = entry_fields.text("player").map_err(in_field)?;
    let color = player.and_then(parse_color).ok_or_else(expected)?;
    let depth = entry_fields.whole("untilDepth", 1, i64::MAX).map_err(in_field)?;
    let places = entry_fields.list("moves").map_err(in_field)?.iter();
    let moves = places.map(|place| {
        let text = place.as_str().ok_or_else(expected)?;
        Ok((color, read_move(field, text, size)?))
    });
    Ok((moves.collect::<Result<_, _>>()?, depth.ok_or_else(expected)? > 1))
}
