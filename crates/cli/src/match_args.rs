//! How games are played: what `tengen match` and `tengen tournament` take from the command line in common.

use crate::arguments;
use tengen_evaluator::{MatchConfig, Openings, Refusal};
use tengen_matches::read_book;
use tengen_rules::{Komi, Rules, Size};

/// Openings, seed and limits of the games.
#[derive(clap::Args)]
pub(crate) struct GameArgs {
    /// The rules, such as tromp_taylor, aga or japanese2008, or settings such as aga,suicide=allowed; two passes end a
    /// game under all of them (see docs/rules.md)
    #[arg(long, default_value = "tromp_taylor", value_name = "NAME", value_parser = arguments::rules)]
    rules: Rules,
    /// How pairs begin: none, first-moves (each distinct first move), random:PLIES, book:PATH (a folder of SGF files,
    /// an SGF file, or a text with one line of moves per opening); +random:PLIES may follow
    #[arg(long, default_value = "random:4")]
    openings: Openings,
    /// Turns taken of each line of a book [default: the whole line]
    #[arg(long, allow_negative_numbers = true, value_parser = arguments::count, value_name = "N")]
    book_plies: Option<u32>,
    /// Seed of openings and players
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    seed: u64,
    /// Games played side by side
    #[arg(long, allow_negative_numbers = true, default_value_t = 64, value_parser = arguments::count, value_name = "N")]
    concurrency: u32,
    /// Plies after which a game stops without a result [default: 4 per point and 40]
    #[arg(long, allow_negative_numbers = true, value_parser = arguments::count, value_name = "N")]
    max_plies: Option<u32>,
    /// What it costs an engine to refuse a legal move, as many do with suicide
    #[arg(long, value_enum, default_value_t = Refused::Loss)]
    refused_moves: Refused,
}

/// What becomes of a game whose engine refuses a legal move.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Refused {
    /// The engine loses
    Loss,
    /// The game does not count
    Void,
}

impl GameArgs {
    /// The settings of pairs of games on this board, with the opening book read.
    pub(crate) fn config(&self, size: Size, komi: Komi, games: usize) -> anyhow::Result<MatchConfig> {
        let plies = self.book_plies.map(|plies| plies as usize);
        Ok(MatchConfig {
            size,
            rules: self.rules,
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
