//! The exact number of games on tiny grids.

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;

use tengen_rules::{Color, GameEnd, KoRule, Move, Position, Rules, Size};

/// The number of complete games from the empty grid: legal turn sequences that end the game. The game without any
/// plays counts too.
///
/// The running time is proportional to the count: about a hundred million games per second under positional superko,
/// about ten million under other rules.
///
/// # Errors
/// [`EndlessGames`] if the rules do not bound the length of a game.
pub fn count_games(size: Size, rules: Rules) -> Result<u128, EndlessGames> {
    Ok(count_games_by_plays(size, rules, usize::MAX)?.iter().sum())
}

/// The number of complete games by number of plays, from 0 to `max_plays`; entry k counts those with k plays.
///
/// # Errors
/// [`EndlessGames`] if the rules do not bound the length of a game.
pub fn count_games_by_plays(size: Size, rules: Rules, max_plays: usize) -> Result<Vec<u128>, EndlessGames> {
    let counts = count_games_watched(size, rules, max_plays, &mut |_| ControlFlow::Continue(()))?;
    Ok(counts.expect("nothing stops the count"))
}

/// Like [`count_games_by_plays`] for counts that take long: `watch` gets the number of games found so far every
/// million games, and can stop the count, which is `None` then.
///
/// # Errors
/// [`EndlessGames`] if the rules do not bound the length of a game.
pub fn count_games_watched(
    size: Size,
    rules: Rules,
    max_plays: usize,
    watch: &mut dyn FnMut(u128) -> ControlFlow<()>,
) -> Result<Option<Vec<u128>>, EndlessGames> {
    if rules.ko == KoRule::Basic {
        return Err(EndlessGames);
    }
    let mut tally = Tally {
        counts: Vec::new(),
        until_look: LOOK_EVERY,
        looks: 0,
        watch,
    };
    let paths_suffice = rules.ko == KoRule::PositionalSuperko && rules.end == GameEnd::TwoPasses && !rules.button;
    if paths_suffice && let Some(grids) = Grids::of(size, rules) {
        tally.counts = vec![0; grids.next.len()];
        let end = grids.extend_path(0, 1, 0, max_plays, &mut tally);
        return Ok(end.is_continue().then(|| tally.finish()));
    }
    let mut position = Position::with_rules(size, rules);
    let end = extend_game(&mut position, 0, max_plays, &mut tally);
    Ok(end.is_continue().then(|| tally.finish()))
}

/// Games between two looks of the watcher.
const LOOK_EVERY: u32 = 1 << 20;

/// Games found so far, by number of plays.
struct Tally<'a> {
    counts: Vec<u64>,
    until_look: u32,
    looks: u128,
    watch: &'a mut dyn FnMut(u128) -> ControlFlow<()>,
}

impl Tally<'_> {
    #[inline]
    fn add(&mut self, plays: usize) -> ControlFlow<()> {
        self.counts[plays] += 1;
        self.until_look -= 1;
        match self.until_look {
            0 => self.look(),
            _ => ControlFlow::Continue(()),
        }
    }

    #[cold]
    fn look(&mut self) -> ControlFlow<()> {
        self.until_look = LOOK_EVERY;
        self.looks += 1;
        (self.watch)(self.looks * u128::from(LOOK_EVERY))
    }

    /// The counts up to the longest games.
    fn finish(mut self) -> Vec<u128> {
        while self.counts.last() == Some(&0) {
            self.counts.pop();
        }
        self.counts.into_iter().map(u128::from).collect()
    }
}

/// The error when games are to be counted under basic ko, which allows endless games.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct EndlessGames;

impl fmt::Display for EndlessGames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("games cannot be counted under basic ko: they may never end")
    }
}

impl std::error::Error for EndlessGames {}

fn extend_game(position: &mut Position, plays: usize, max_plays: usize, tally: &mut Tally<'_>) -> ControlFlow<()> {
    if position.is_over() {
        if tally.counts.len() <= plays {
            tally.counts.resize(plays + 1, 0);
        }
        return tally.add(plays);
    }
    if plays < max_plays {
        for point in position.legal_points() {
            position.play_unchecked(Move::Play(point));
            extend_game(position, plays + 1, max_plays, tally)?;
            position.undo();
        }
    }
    position.play_unchecked(Move::Pass);
    extend_game(position, plays, max_plays, tally)?;
    position.undo();
    ControlFlow::Continue(())
}

/// The graph of grids, with an edge for each play of either color that changes the grid.
///
/// Under positional superko a game is a path that visits no grid twice: there is exactly one pass between two plays of
/// the same color, none between plays of different colors, and two passes end the game. The grids determine the passes.
struct Grids {
    /// For each grid, the grids that one play leads to.
    next: Vec<Vec<u8>>,
}

impl Grids {
    /// The graph reachable from the empty grid, which is grid 0; `None` if it has more than 128 grids.
    fn of(size: Size, rules: Rules) -> Option<Grids> {
        let free = Rules {
            ko: KoRule::Fixed,
            ..rules
        };
        let start = Position::with_rules(size, free);
        let mut numbers = HashMap::from([(start.hash(), 0u8)]);
        let mut grids = vec![start];
        let mut next = Vec::new();
        while next.len() < grids.len() {
            let mut ends = Vec::new();
            for color in Color::ALL {
                let here = &grids[next.len()];
                let [black, white] = Color::ALL.map(|c| here.stones(c));
                let from = Position::from_setup(size, free, &black, &white, color).expect("a legal grid");
                for point in from.legal_points() {
                    let mut to = from.clone();
                    to.play_unchecked(Move::Play(point));
                    let fresh = u8::try_from(grids.len()).ok()?;
                    let number = *numbers.entry(to.hash()).or_insert(fresh);
                    if number == fresh {
                        grids.push(to);
                    }
                    if usize::from(number) != next.len() {
                        ends.push(number);
                    }
                }
            }
            next.push(ends);
        }
        (grids.len() <= 128).then_some(Grids { next })
    }

    /// Counts the paths from a grid that visit no grid twice, by length.
    fn extend_path(
        &self,
        grid: u8,
        visited: u128,
        length: usize,
        longest: usize,
        tally: &mut Tally<'_>,
    ) -> ControlFlow<()> {
        tally.add(length)?;
        if length == longest {
            return ControlFlow::Continue(());
        }
        for &next in &self.next[usize::from(grid)] {
            if visited >> next & 1 == 0 {
                self.extend_path(next, visited | 1 << next, length + 1, longest, tally)?;
            }
        }
        ControlFlow::Continue(())
    }
}
