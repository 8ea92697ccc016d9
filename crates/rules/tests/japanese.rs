//! Simplified Japanese Rules 2008: two-eye-formations, independent life, and games with agreements and resumptions.
#![allow(missing_docs)]

mod support;

use tengen_rng::{below, stream};
use tengen_rules::{Color, IllegalMove, Komi, Life, Move, PointSet, Position, Rules, Size, parse_point};

use support::setup;
use support::slow::Grid;

fn board(rows: &[&str]) -> Position {
    setup(rows, Rules::japanese2008(), Color::Black)
}

fn check_life(rows: &[&str], point: &str, expected: Life) {
    let position = board(rows);
    let point = parse_point(position.size(), point).unwrap();
    assert_eq!(position.independent_life(point, 2_000_000), expected, "{rows:?}");
}

#[test]
fn two_eye_formations() {
    let check = |rows: &[&str], color: Color, points: usize| {
        assert_eq!(board(rows).two_eye_formations(color).len(), points, "{rows:?}");
    };
    check(&[".XX.O"], Color::Black, 0);
    check(&[".XX.X"], Color::Black, 0);
    check(&[".XX."], Color::Black, 4);
    check(&[".X.X", "XXXX"], Color::Black, 8);
    check(&[".X.XO.", "XXXXOO"], Color::Black, 8);
    check(&[".X.XO", "XXXX."], Color::Black, 0);
    check(&["X.X", ".OX", "XXX"], Color::Black, 0);
    // Two chains that share both eyes.
    check(&["X.", ".X"], Color::Black, 4);
    check(&["O.", ".O"], Color::White, 4);
    check(&["O.", ".O"], Color::Black, 0);
}

#[test]
fn life_of_small_groups() {
    check_life(&[".XX."], "B1", Life::Alive);
    check_life(&[".X.XO.", "XXXXOO"], "A1", Life::Alive);
    // Three points in a row: the opponent plays in the middle.
    check_life(&["...XO.", "XXXXOO", "OOOOO."], "A2", Life::NotAlive);
    // Four points in a row are alive.
    check_life(&["....XO.", "XXXXXOO", "OOOOOO."], "A2", Life::Alive);
    // A group without any eye space.
    check_life(&[".XOO.", "OOO.O"], "B2", Life::NotAlive);
    // Seki without eyes, and with one eye each.
    check_life(&["XXXOO", ".X.O.", "XXXOO"], "A1", Life::NotAlive);
    check_life(&["XXXOO", ".X.O.", "XXXOO"], "E1", Life::NotAlive);
    check_life(&[".XX.OO.", "XXX.OOO"], "B1", Life::NotAlive);
    check_life(&[".XX.OO.", "XXX.OOO"], "F1", Life::NotAlive);
    // Two walls on a board without stones inside.
    check_life(&[".XO.", ".XO.", ".XO.", ".XO."], "B1", Life::Alive);
    check_life(&[".X.O.", ".X.O.", ".X.O.", ".X.O.", ".X.O."], "B1", Life::Alive);
    check_life(&["XXXOO", ".X.O."], "A2", Life::NotAlive);
    check_life(&["XXXOO", ".X.O."], "E2", Life::NotAlive);
}

#[test]
fn the_life_search_reports_undecided_chains() {
    let mut position = Position::with_rules(Size::square(9).unwrap(), Rules::japanese2008());
    position.play(Move::parse(position.size(), "E5").unwrap());
    let point = parse_point(position.size(), "E5").unwrap();
    assert_eq!(position.independent_life(point, 500), Life::NotDecided);
    let (alive, undecided) = position.independently_alive(500);
    assert!(alive.is_empty() && undecided.contains(point));
}

/// A literal implementation of hypothetical play, without memory or proof numbers.
struct SlowAnalysis {
    size: Size,
    owner: Color,
    chain: PointSet,
    plays: Vec<(Grid, Grid)>,
    left: u32,
}

impl SlowAnalysis {
    /// Whether the owner can force the formation; `None` if the search takes too long.
    fn owner_wins(&mut self, grid: &Grid, to_move: Color, passes: u32) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if self.formation(grid) {
            return Some(true);
        }
        if passes == 3 {
            return Some(false);
        }
        let owners_turn = to_move == self.owner;
        if self.owner_wins(grid, to_move.opposite(), passes + 1)? == owners_turn {
            return Some(owners_turn);
        }
        for point in self.size.points().filter(|p| grid[p.index()].is_none()) {
            let rules = Rules {
                ko: tengen_rules::KoRule::Basic,
                ..Rules::japanese2008()
            };
            let mut position = self.position(grid, rules, to_move);
            if position.try_play(Move::Play(point)).is_err() {
                continue;
            }
            let after: Grid = self.size.points().map(|p| position.at(p)).collect();
            let play = (grid.clone(), after.clone());
            if self.plays.contains(&play) {
                continue;
            }
            self.plays.push(play);
            let result = self.owner_wins(&after, to_move.opposite(), 0);
            self.plays.pop();
            if result? == owners_turn {
                return Some(owners_turn);
            }
        }
        Some(!owners_turn)
    }

    fn position(&self, grid: &Grid, rules: Rules, to_move: Color) -> Position {
        let stones = |color| self.size.points().filter(|p| grid[p.index()] == Some(color)).collect();
        let [black, white] = Color::ALL.map(stones);
        Position::from_setup(self.size, rules, &black, &white, to_move).unwrap()
    }

    fn formation(&self, grid: &Grid) -> bool {
        let position = self.position(grid, Rules::japanese2008(), self.owner);
        let adjacent = |a: tengen_rules::Point, b: tengen_rules::Point| {
            let (s, c, r) = (self.size, a.column(self.size), a.row(self.size));
            c.abs_diff(b.column(s)) + r.abs_diff(b.row(s)) == 1
        };
        let empty = position.empty_points();
        let own = position.stones(self.owner);
        // All pairs of empty points with the chains adjacent to them.
        empty.iter().any(|a| {
            empty.iter().filter(|b| *b > a).any(|b| {
                let around: PointSet = self
                    .size
                    .points()
                    .filter(|&p| adjacent(p, a) || adjacent(p, b))
                    .collect();
                let chains = around
                    .iter()
                    .filter(|p| own.contains(*p))
                    .fold(PointSet::new(), |all, p| all | position.chain(p));
                let formation = chains | [a, b].into_iter().collect();
                around.is_subset(&own)
                    && !chains.is_empty()
                    && chains.iter().all(|p| {
                        let chain = position.chain(p);
                        empty
                            .iter()
                            .all(|e| chain.iter().any(|s| adjacent(s, e)) == (e == a || e == b))
                    })
                    && formation.intersects(&self.chain)
            })
        })
    }
}

/// The proof search agrees with the literal implementation of hypothetical play on small random boards.
#[test]
fn life_equals_slow_life() {
    let mut random = stream(77, &[]);
    let mut decided = [0; 2];
    for _ in 0..400 {
        let size = Size::new(2 + below(&mut random, 3), 1 + below(&mut random, 3)).unwrap();
        let mut position = Position::with_rules(size, Rules::japanese2008());
        for _ in 0..below(&mut random, 4 * size.area()) {
            if position.is_over() {
                break;
            }
            let legal = position.legal_points();
            match legal.nth(below(&mut random, legal.len().max(1))) {
                Some(point) => position.play(Move::Play(point)),
                None if position.consecutive_passes() == 0 => position.play(Move::Pass),
                None => break,
            }
        }
        for point in position.stones(Color::Black) | position.stones(Color::White) {
            let owner = position.at(point).unwrap();
            let mut slow = SlowAnalysis {
                size,
                owner,
                chain: position.chain(point),
                plays: Vec::new(),
                left: 3000,
            };
            let grid = size.points().map(|p| position.at(p)).collect();
            if let Some(wins) = slow.owner_wins(&grid, owner.opposite(), 0) {
                let expected = if wins { Life::Alive } else { Life::NotAlive };
                assert_eq!(position.independent_life(point, 1_000_000), expected);
                decided[usize::from(wins)] += 1;
            }
        }
    }
    assert!(decided.iter().all(|&n| n > 50), "{decided:?}");
}

fn play(position: &mut Position, moves: &str) {
    for mv in moves.split(' ') {
        position.try_play(Move::parse(position.size(), mv).unwrap()).unwrap();
    }
}

#[test]
fn territory_game_with_resumption() {
    let size = Size::new(7, 3).unwrap();
    let komi = Komi::from_half_points(1);
    let mut position = Position::with_rules(size, Rules::japanese2008());
    play(&mut position, "C2 E2 C3 E3 C1 E1 pass A1 pass");
    assert!(!position.may_agree());
    play(&mut position, "pass");
    assert!(position.may_agree());
    assert_eq!(position.try_play(Move::Pass), Err(IllegalMove::GameOver));
    let point = |name| parse_point(size, name).unwrap();
    let alive: PointSet = [point("C1"), point("E1")].into_iter().collect();
    // Six points and one prisoner against six points.
    assert_eq!(position.territory(&alive).margin(komi).to_string(), "B+0.5");
    // A player asks to resume, as if nobody had passed.
    position.undo();
    position.undo();
    assert_eq!(position.ply(), 8);
    play(&mut position, "B1 A2 pass pass");
    assert!(position.may_agree());
    let stones = position.stones(Color::Black) | position.stones(Color::White);
    let alive = stones - position.chain(point("A1"));
    // Five points and two prisoners; the neutral column counts for neither player.
    assert_eq!(position.territory(&alive).margin(komi).to_string(), "B+0.5");
}

#[test]
fn agreements_are_possible_only_after_two_passes() {
    let size = Size::square(3).unwrap();
    let start = |name: &str| Position::with_rules(size, name.parse().unwrap());
    let margin = |position: &Position| position.margin(Komi::ZERO).to_string();
    let mut strict = start("tromp_taylor");
    play(&mut strict, "B2 pass pass");
    assert!(strict.is_over() && !strict.may_agree());
    assert_eq!(margin(&strict), "B+9");
    for name in ["tromp_taylor_practice", "new_zealand", "aga", "chinese_written"] {
        let mut practice = start(name);
        play(&mut practice, "B2 pass");
        assert!(!practice.may_agree(), "{name}");
        play(&mut practice, "pass");
        assert!(practice.may_agree() && !practice.is_over(), "{name}");
        assert_eq!(practice.margin_without(&PointSet::new(), Komi::ZERO).to_string(), "B+9");
        play(&mut practice, "pass pass");
        assert!(practice.is_over() && !practice.may_agree(), "{name}");
        assert_eq!(margin(&practice), "B+9");
    }
    let mut ing = start("simplified_ing");
    play(&mut ing, "B2 pass pass");
    assert!(ing.may_agree());
    play(&mut ing, "A1 pass");
    assert!(!ing.is_over());
    play(&mut ing, "pass");
    assert!(ing.is_over() && !ing.may_agree());
    assert_eq!(margin(&ing), "0");
}

#[test]
fn stones_agreed_to_be_dead_do_not_count() {
    let size = Size::square(5).unwrap();
    let mut position = Position::with_rules(size, Rules::tromp_taylor_practice());
    play(&mut position, "C3 A1 pass pass");
    let dead: PointSet = [parse_point(size, "A1").unwrap()].into_iter().collect();
    assert_eq!(position.margin(Komi::ZERO).to_string(), "0");
    assert_eq!(position.margin_without(&dead, Komi::ZERO).to_string(), "B+25");
}
