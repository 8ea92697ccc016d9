//! `tengen data`: what lies in a run store, and whether it is sound.

mod export;
mod filters;
mod head;
mod import;
mod merge;
mod prune;
mod retention;
mod sample;
mod solve;
mod stats;
mod verify;

/// Look into a run store and look after it: figures, checks, games, old games; make datasets of it
#[derive(clap::Subcommand)]
pub(crate) enum Data {
    Stats(stats::Args),
    Verify(verify::Args),
    Head(head::Args),
    Prune(prune::Args),
    Merge(merge::Args),
    Sample(sample::Args),
    Export(Box<export::Args>),
    Solve(solve::Args),
    Import(import::Args),
}

/// Does what was asked.
pub(crate) fn run(command: Data) -> anyhow::Result<()> {
    match command {
        Data::Stats(args) => stats::run(args),
        Data::Verify(args) => verify::run(args),
        Data::Head(args) => head::run(args),
        Data::Prune(args) => prune::run(args),
        Data::Merge(args) => merge::run(args),
        Data::Sample(args) => sample::run(args),
        Data::Export(args) => export::run(*args),
        Data::Solve(args) => solve::run(args),
        Data::Import(args) => import::run(args),
    }
}
