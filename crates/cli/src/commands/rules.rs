//! `tengen rules`: command-line access to the rules core: counts, facts, scores, diagrams, best play.

mod count;
mod counting;
mod score;
pub(crate) mod show;
mod solve;
mod verify;

/// Query the rules core: counts, published facts, scores, diagrams, best play
#[derive(clap::Subcommand)]
pub(crate) enum Rules {
    Perft(count::Perft),
    Positions(count::Positions),
    Games(count::Games),
    Score(score::Args),
    Show(show::Args),
    Solve(solve::Args),
    Verify(verify::Args),
}

pub(crate) fn run(command: Rules) -> anyhow::Result<()> {
    match command {
        Rules::Perft(args) => count::perft(args),
        Rules::Positions(args) => count::positions(args),
        Rules::Games(args) => count::games(args),
        Rules::Score(args) => score::run(args),
        Rules::Show(args) => show::run(args),
        Rules::Solve(args) => solve::run(args),
        Rules::Verify(args) => verify::run(args),
    }
}

/// A count with thousands separators, at most `u64::MAX`.
fn thousands(count: u128) -> String {
    crate::output::thousands(u64::try_from(count).unwrap_or(u64::MAX))
}
