//! `tengen data`: what lies in a run store, and whether it is sound.

mod head;
mod stats;
mod verify;

/// Look into a run store: figures, checks, games
#[derive(clap::Subcommand)]
pub(crate) enum Data {
    Stats(stats::Args),
    Verify(verify::Args),
    Head(head::Args),
}

/// Does what was asked.
pub(crate) fn run(command: Data) -> anyhow::Result<()> {
    match command {
        Data::Stats(args) => stats::run(args),
        Data::Verify(args) => verify::run(args),
        Data::Head(args) => head::run(args),
    }
}
