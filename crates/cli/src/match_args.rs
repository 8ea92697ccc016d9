//! The arguments shared by `tengen match` and `tengen tournament`.

use tengen_evaluator::{MatchConfig, Openings, Refusal};
use tengen_matches::read_book;
use tengen_rules::Rules;

use crate::arguments;
use tengen_matches::Conditions;

/// Openings, seed and limits of the games.
#[derive(clap::Args)]
pub(crate) struct GameArgs {
    /// The rules, such as tromp_taylor, aga or japanese2008, or settings such as aga,suicide=allowed; under all of them
    /// two passes end a game (see docs/rules.md) [default: those of the first network, otherwise tromp_taylor]
    #[arg(long, value_name = "NAME", value_parser = arguments::rules)]
    pub(crate) rules: Option<Rules>,
    /// How pairs of games start: none, first-moves (each distinct first move), random:PLIES, book:PATH (a folder of SGF
    /// files, an SGF file, or a text file with one line of moves per opening); +random:PLIES may follow
    #[arg(long, default_value = "random:4")]
    openings: Openings,
    /// Turns to use of each line of a book [default: the whole line]
    #[arg(long, allow_negative_numbers = true, value_parser = arguments::count, value_name = "N")]
    book_plies: Option<u32>,
    /// Random seed for openings and players
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    seed: u64,
    /// Number of games played in parallel
    #[arg(long, allow_negative_numbers = true, default_value_t = 64, value_parser = arguments::count, value_name = "N")]
    concurrency: u32,
    /// Plies after which a game stops without a result [default: 4 per point plus 40]
    #[arg(long, allow_negative_numbers = true, value_parser = arguments::count, value_name = "N")]
    max_plies: Option<u32>,
    /// The consequence when an engine rejects a legal move, as many do with suicide
    #[arg(long, value_enum, default_value_t = Refused::Loss)]
    refused_moves: Refused,
}

/// What happens to a game whose engine rejects a legal move.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Refused {
    /// The engine loses the game
    Loss,
    /// The game does not count
    Void,
}

impl GameArgs {
    /// Match settings for these conditions, with the opening book loaded.
    pub(crate) fn config(&self, conditions: Conditions, games: usize) -> anyhow::Result<MatchConfig> {
        let Conditions { size, komi, rules } = conditions;
        let plies = self.book_plies.map(|plies| plies as usize);
        Ok(MatchConfig {
            size,
            rules,
            komi,
            games,
            openings: read_book(self.openings.clone(), size, plies)?,
            seed: self.seed,
            parallel: self.concurrency as usize,
            max_plies: self.max_plies.unwrap_or(0) as usize,
            refused_moves: match self.refused_moves {
                Refused::Loss => Refusal::Loss,
                Refused::Void => Refusal::Void,
            },
            ..MatchConfig::default()
        })
    }
}
