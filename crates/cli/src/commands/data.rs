//! `tengen data`: inspects and maintains a run store, and makes datasets from it.

mod export;
mod filters;
mod head;
mod import;
mod label;
mod merge;
mod problems;
mod prune;
mod retention;
mod sample;
mod solve;
mod stats;
mod verify;

/// Inspect and maintain a run store: statistics, checks, games, pruning, merging, datasets
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
    Problems(problems::Args),
    Import(import::Args),
    Label(Box<label::Args>),
}

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
        Data::Problems(args) => problems::run(args),
        Data::Import(args) => import::run(args),
        Data::Label(args) => label::run(*args),
    }
}
