//! Compares a player with what is known about the opening position of small boards.
//!
//! Under area scoring at komi 0, Black takes the whole 5x5 board (+25, first move in the center; proved by van der
//! Werf, van den Herik and Uiterwijk, "Solving Go on small boards", 2003). 7x7 is believed, but not proved, to be worth
//! +9 with the same first move (Li Zhe, 2015).

use std::ops::ControlFlow;

use anyhow::{Context, bail};
use serde::Serialize;

use tengen_evaluator::{
    AColor, Answer, Choice, MatchConfig, MatchContext, MatchEvent, MatchResult, Openings, Player, PlayerSpec, Turn,
    run_match,
};
use tengen_rules::{Color, Komi, Move, Position, Size};

/// Makes a player; may be called repeatedly for the same one.
pub type MakeAnyPlayer<'a> = dyn Fn(&PlayerSpec) -> anyhow::Result<Box<dyn Player>> + 'a;

/// The opponents, which know nothing but the rules, stronger first.
const OPPONENTS: [&str; 2] = ["mcts,playouts=1000", "random"];

/// The share of games that must confirm the theory against opponents this weak.
const SHARE: f64 = 0.95;

/// The same for games of a player against itself, in which both sides know where the other errs.
const SHARE_AGAINST_ITSELF: f64 = 0.9;

/// Visits per move in games of a player against itself, unless it names others.
const VISITS_AGAINST_ITSELF: u32 = 200;

/// The temperature of such games, which keeps them from being the same game over and over.
const TEMPERATURE_AGAINST_ITSELF: f32 = 0.2;

/// One theoretical result and the player's answer.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The question, such as `first move`.
    pub question: String,
    /// The answer according to theory.
    pub expected: String,
    /// The player's answer.
    pub found: String,
    /// Whether the two agree.
    pub passed: bool,
}

/// A player's answers about the opening position of one board.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The board, such as `5x5`.
    pub board: String,
    /// The player's name.
    pub player: String,
    /// Whether the theory is proved or only believed.
    pub proved: bool,
    /// The first move at the komi half a point below the board's value.
    pub first_move: String,
    /// P(win) - P(loss) there from Black's viewpoint, -1 to 1; `None` if the player reports no value.
    pub value: Option<f32>,
    /// The margin without komi that the player expects, in points from Black's viewpoint.
    pub board_margin: Option<f32>,
    /// All questions, in the order asked.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether every answer agrees with theory.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    /// The report as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let state = if self.proved { "proved" } else { "believed, not proved" };
        let mut lines = vec![format!(
            "{} against the theory of {} ({state})",
            self.player, self.board
        )];
        for check in &self.checks {
            let mark = if check.passed { "ok  " } else { "FAIL" };
            lines.push(format!(
                "{mark} {}: {} (theory: {})",
                check.question, check.found, check.expected
            ));
        }
        lines
    }
}

/// The theoretical result for one board.
struct Theory {
    side: usize,
    /// Black's margin under best play, in points.
    value: i16,
    first_move: &'static str,
    proved: bool,
}

/// The setup of a comparison with theory.
pub struct Exam<'a> {
    /// The player that answers.
    pub model: &'a PlayerSpec,
    /// Makes that player and its opponents.
    pub players: &'a MakeAnyPlayer<'a>,
    /// Games against each player without a network and, at each komi, against itself.
    pub games: usize,
    /// Determines all games.
    pub seed: u64,
    /// Receives progress messages, such as `7 of 100 games against random`.
    pub progress: &'a dyn Fn(&str),
}

/// Checks a player against what is proved about 5x5: the first move, the value at komi 24.5 and 25.5, +25 after every
/// first reply, and +25 against two players without a network.
pub fn five_by_five(exam: &Exam<'_>) -> anyhow::Result<Report> {
    let theory = Theory {
        side: 5,
        value: 25,
        first_move: "C3",
        proved: true,
    };
    let mut report = exam.opening_position(&theory)?;
    report.checks.push(exam.every_reply(&theory)?);
    let whole_board = |result: &MatchResult| result.a_full_board_wins;
    let checks = exam.against_opponents(&theory, ("+25 as Black", whole_board))?;
    report.checks.extend(checks);
    Ok(report)
}

/// What counts as a success against players without a network, as text, and the number of such games.
type Success = (&'static str, fn(&MatchResult) -> usize);

/// Checks a player against what is believed about 7x7: the first move, the value at komi 8.5 and 9.5, wins as Black at
/// komi 8.5 against two players without a network, and games against itself, which Black must win at komi 8.5 and White
/// at komi 9.5.
pub fn seven_by_seven(exam: &Exam<'_>) -> anyhow::Result<Report> {
    let theory = Theory {
        side: 7,
        value: 9,
        first_move: "D4",
        proved: false,
    };
    let mut report = exam.opening_position(&theory)?;
    let won = |result: &MatchResult| result.a_total.wins as usize;
    let checks = exam.against_opponents(&theory, ("wins as Black at komi 8.5", won))?;
    report.checks.extend(checks);
    report.checks.extend(exam.against_itself(&theory)?);
    Ok(report)
}

impl Theory {
    fn size(&self) -> anyhow::Result<Size> {
        Ok(Size::square(self.side)?)
    }

    /// The komi half a point below the value, where Black wins, or half a point above it.
    fn komi(&self, wins: bool) -> Komi {
        Komi::from_half_points(if wins { 2 * self.value - 1 } else { 2 * self.value + 1 })
    }
}

impl Exam<'_> {
    /// Checks the first move, and the value at both komi values.
    fn opening_position(&self, theory: &Theory) -> anyhow::Result<Report> {
        (self.progress)("first move and values");
        let (size, seed) = (theory.size()?, self.seed);
        let mut player = (self.players)(self.model)?;
        let empty = Position::new(size);
        let (won, lost) = (theory.komi(true), theory.komi(false));
        let mut at = |game, komi| {
            let question = Question {
                slot: 0,
                game,
                position: &empty,
                komi,
            };
            anyhow::Ok(ask(&mut *player, &[question], seed)?.remove(0))
        };
        let (at_won, at_lost) = (at(0, won)?, at(1, lost)?);
        let first_move = at_won.mv.format(size);
        let mut checks = vec![Check {
            question: format!("first move at komi {won}"),
            expected: theory.first_move.to_owned(),
            passed: first_move == theory.first_move,
            found: first_move.clone(),
        }];
        checks.extend(value_check(won, &at_won, true));
        checks.extend(value_check(lost, &at_lost, false));
        Ok(Report {
            board: size.to_string(),
            player: player.name(),
            proved: theory.proved,
            first_move,
            value: at_won.search.map(|search| search.value),
            board_margin: at_won.search.map(|search| search.margin + won.points()),
            checks,
        })
    }

    /// Black opens, White's first reply is each legal move in turn (including the pass), and then White is the same
    /// player with noise. Black must take the whole board every time.
    fn every_reply(&self, theory: &Theory) -> anyhow::Result<Check> {
        let (size, seed) = (theory.size()?, self.seed);
        let komi = theory.komi(true);
        let mut black = (self.players)(self.model)?;
        let mut noisy = self.model.clone();
        if searches(self.model) {
            noisy.options.noise = Some(true);
        }
        let mut white = (self.players)(&noisy)?;
        let mut opened = Position::new(size);
        let question = Question {
            slot: 0,
            game: 0,
            position: &opened,
            komi,
        };
        let first = ask(&mut *black, &[question], seed)?.remove(0);
        opened.play(first.mv);
        let replies: Vec<Move> = opened
            .legal_points()
            .iter()
            .map(Move::Play)
            .chain([Move::Pass])
            .collect();
        let mut games: Vec<Position> = replies.iter().map(|&reply| after(&opened, reply)).collect();
        (self.progress)(&format!(
            "{} games, one after each reply to {}",
            games.len(),
            first.mv.format(size)
        ));
        play_out(&mut games, [&mut *black, &mut *white], komi, seed)?;
        let whole = |game: &Position| game.is_over() && game.board_margin() == i32::from(theory.value);
        let lost: Vec<String> = replies
            .iter()
            .zip(&games)
            .filter(|(_, game)| !whole(game))
            .map(|(reply, game)| format!("{} {:+}", reply.format(size), game.board_margin()))
            .collect();
        let held = replies.len() - lost.len();
        let which = if lost.is_empty() {
            String::new()
        } else {
            format!("; not after {}", lost.join(", "))
        };
        Ok(Check {
            question: format!("+{} after every reply to {}", theory.value, first.mv.format(size)),
            expected: format!("{} of {}", replies.len(), replies.len()),
            found: format!("{held} of {}{which}", replies.len()),
            passed: lost.is_empty(),
        })
    }

    /// The model as Black against each player without a network.
    fn against_opponents(&self, theory: &Theory, (success, count): Success) -> anyhow::Result<Vec<Check>> {
        let check = |opponent: &&str| {
            let pairing = Pairing {
                komi: theory.komi(true),
                black: self.model,
                white: &opponent.parse()?,
                games: format!("against {opponent}"),
            };
            let result = self.play(theory, &pairing)?;
            let played = result.games + result.unfinished;
            let question = format!("{success} against {opponent}");
            Ok(share_check(&question, (count(&result), played), SHARE))
        };
        OPPONENTS.iter().map(check).collect()
    }

    /// The model against itself at both komi values.
    fn against_itself(&self, theory: &Theory) -> anyhow::Result<Vec<Check>> {
        let mut model = self.model.clone();
        let mut how = String::new();
        if searches(&model) {
            let visits = model.options.visits.get_or_insert(VISITS_AGAINST_ITSELF);
            how = format!(" with {visits} visits");
            model.options.temperature.get_or_insert(TEMPERATURE_AGAINST_ITSELF);
        }
        let check = |black_wins| {
            let komi = theory.komi(black_wins);
            let pairing = Pairing {
                komi,
                black: &model,
                white: &model,
                games: format!("against itself at komi {komi}"),
            };
            let result = self.play(theory, &pairing)?;
            let (winner, won) = match black_wins {
                true => ("Black", result.a_total.wins),
                false => ("White", result.a_total.losses),
            };
            let question = format!("wins of {winner} against itself at komi {komi}{how}");
            let played = result.games + result.unfinished;
            Ok(share_check(&question, (won as usize, played), SHARE_AGAINST_ITSELF))
        };
        [true, false].into_iter().map(check).collect()
    }

    /// A match in which every game begins on the empty board.
    fn play(&self, theory: &Theory, pairing: &Pairing<'_>) -> anyhow::Result<MatchResult> {
        let config = MatchConfig {
            size: theory.size()?,
            komi: pairing.komi,
            games: self.games,
            openings: Openings::default(),
            a_color: AColor::Black,
            seed: self.seed,
            ..MatchConfig::default()
        };
        let context = MatchContext {
            match_id: "theory".to_owned(),
            config_id: "theory".to_owned(),
            start_time_ms: 0,
        };
        let (mut black, mut white) = ((self.players)(pairing.black)?, (self.players)(pairing.white)?);
        let tell = |done: usize| (self.progress)(&format!("{done} of {} games {}", self.games, pairing.games));
        tell(0);
        let mut done = 0;
        let result = run_match(&config, &mut *black, &mut *white, &context, &mut |event| {
            if matches!(event, MatchEvent::GameFinished { .. }) {
                done += 1;
                tell(done);
            }
            ControlFlow::Continue(())
        })?;
        Ok(result)
    }
}

/// The players of a match and their komi.
struct Pairing<'a> {
    komi: Komi,
    black: &'a PlayerSpec,
    white: &'a PlayerSpec,
    /// Which games these are, for the progress message, such as `against random`.
    games: String,
}

/// The sign of the value at one komi; `None` if the player reports no value.
fn value_check(komi: Komi, choice: &Choice, black_wins: bool) -> Option<Check> {
    let value = choice.search?.value;
    Some(Check {
        question: format!("Black's value at komi {komi}"),
        expected: if black_wins { "above 0" } else { "below 0" }.to_owned(),
        found: format!("{value:+.2}"),
        passed: if black_wins { value > 0.0 } else { value < 0.0 },
    })
}

/// Whether a player runs a search that supports noise.
fn searches(model: &PlayerSpec) -> bool {
    use tengen_evaluator::PlayerKind::{Gtp, Mcts, Random};
    !matches!(model.kind, Gtp(_) | Random | Mcts)
}

fn after(position: &Position, mv: Move) -> Position {
    let mut next = position.clone();
    next.play(mv);
    next
}

/// Plays all games until they end or reach four plies per point, as many in parallel as both players can play. They
/// are numbered from 1.
fn play_out(games: &mut [Position], players: [&mut dyn Player; 2], komi: Komi, seed: u64) -> anyhow::Result<()> {
    let [black, white] = players;
    let parallel = black
        .max_parallel()
        .min(white.max_parallel())
        .clamp(1, games.len().max(1));
    for (number, games) in games.chunks_mut(parallel).enumerate() {
        let first = 1 + (number * parallel) as u64;
        play_side_by_side(games, first, [&mut *black, &mut *white], komi, seed)?;
    }
    Ok(())
}

/// See [`play_out`]. The games are numbered from `first`.
fn play_side_by_side(
    games: &mut [Position],
    first: u64,
    players: [&mut dyn Player; 2],
    komi: Komi,
    seed: u64,
) -> anyhow::Result<()> {
    let limit = games.first().map_or(0, |game| 4 * game.size().area());
    let [black, white] = players;
    for turn in 0.. {
        let color = if turn % 2 == 0 { Color::Black } else { Color::White };
        let open = |game: &Position| !game.is_over() && game.ply() < limit;
        if !games.iter().any(open) {
            return Ok(());
        }
        let moving: Vec<usize> = (0..games.len())
            .filter(|&index| open(&games[index]) && games[index].to_move() == color)
            .collect();
        let question = |&slot: &usize| Question {
            slot,
            game: first + slot as u64,
            position: &games[slot],
            komi,
        };
        let questions: Vec<_> = moving.iter().map(question).collect();
        let player: &mut dyn Player = if color == Color::Black {
            &mut *black
        } else {
            &mut *white
        };
        let choices = ask(player, &questions, seed)?;
        for (index, choice) in moving.into_iter().zip(choices) {
            let played = games[index].try_play(choice.mv);
            played.with_context(|| format!("{} chose an illegal move", player.name()))?;
        }
    }
    Ok(())
}

/// A position in which a player is to choose a move.
pub(crate) struct Question<'a> {
    /// The place of its game among those played side by side, as in [`Turn::slot`].
    pub(crate) slot: usize,
    /// The number of its game, which no other game of the player has.
    pub(crate) game: u64,
    pub(crate) position: &'a Position,
    pub(crate) komi: Komi,
}

/// The player's choice in each of these positions.
pub(crate) fn ask(player: &mut dyn Player, questions: &[Question<'_>], seed: u64) -> anyhow::Result<Vec<Choice>> {
    if questions.is_empty() {
        return Ok(Vec::new());
    }
    let turns: Vec<Turn<'_>> = questions
        .iter()
        .map(|question| Turn {
            slot: question.slot,
            game: question.game,
            seed: tengen_rng::fold(seed, &[question.game]),
            position: question.position,
            komi: question.komi,
        })
        .collect();
    let answers = player.choose(&turns)?;
    let name = player.name();
    let choice = |answer| match answer {
        Answer::Play(choice) => Ok(choice),
        Answer::Resign => bail!("{name} resigned"),
        Answer::Fault(fault) => bail!("{name}: {}", fault.reason),
    };
    answers.into_iter().map(choice).collect()
}

/// Whether this share of the games confirms the theory.
fn share_check(question: &str, (found, games): (usize, usize), share: f64) -> Check {
    let needed = (share * games as f64).ceil() as usize;
    Check {
        question: question.to_owned(),
        expected: format!("at least {needed} of {games}"),
        found: format!("{found} of {games}"),
        passed: found >= needed,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use tengen_evaluator::{NoModels, build_player};

    #[test]
    fn the_random_player_contradicts_theory() {
        let players = |spec: &PlayerSpec| Ok(build_player(spec, &mut NoModels)?);
        let told = RefCell::new(Vec::new());
        let report = five_by_five(&Exam {
            model: &"random".parse().unwrap(),
            players: &players,
            games: 4,
            seed: 1,
            progress: &|text| told.borrow_mut().push(text.to_owned()),
        })
        .unwrap();
        let told = told.into_inner();
        assert_eq!(told[0], "first move and values");
        assert!(told[1].starts_with("25 games, one after each reply to "), "{told:?}");
        assert_eq!(told.last().unwrap(), "4 of 4 games against random");
        assert!(!report.passed());
        assert_eq!(report.value, None, "the random player reports no value");
        let held = report
            .checks
            .iter()
            .find(|check| check.question.contains("every reply"))
            .unwrap();
        assert!(held.expected == "25 of 25" && !held.passed, "{held:?}");
        assert!(report.lines()[1].starts_with("FAIL"), "{:?}", report.lines());
    }

    #[test]
    fn against_itself_the_side_that_theory_names_must_win() {
        let players = |spec: &PlayerSpec| Ok(build_player(spec, &mut NoModels)?);
        let model = "mcts,playouts=200".parse().unwrap();
        let exam = Exam {
            model: &model,
            players: &players,
            games: 4,
            seed: 1,
            progress: &|_| {},
        };
        // Both komi values are on the same side of the margin that best play ends with.
        let both = |side, value| {
            let theory = Theory {
                side,
                value,
                first_move: "none",
                proved: false,
            };
            let checks = exam.against_itself(&theory).unwrap();
            checks.iter().map(|check| check.passed).collect::<Vec<_>>()
        };
        assert_eq!(both(3, 8), [true, false], "Black takes the whole 3x3 board");
        assert_eq!(both(2, 3), [false, true], "2x2 is worth 1 point");
    }

    #[test]
    fn the_required_share_is_rounded_up() {
        assert!(share_check("x", (95, 100), 0.95).passed);
        assert!(!share_check("x", (94, 100), 0.95).passed);
        assert!(!share_check("x", (3, 4), 0.95).passed);
    }
}
