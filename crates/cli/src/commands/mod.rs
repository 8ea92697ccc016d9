//! One file for each subcommand, with its arguments (`Args`) and the function that runs it (`run`).

mod analyze;
mod bench;
#[cfg(feature = "torch")]
mod config;
mod data;
#[cfg(feature = "torch")]
mod doctor;
#[cfg(feature = "torch")]
mod gate;
mod gtp;
mod match_;
mod model;
mod rate;
mod report;
mod rules;
#[cfg(feature = "torch")]
mod run;
#[cfg(feature = "torch")]
mod selfplay;
mod serve;
#[cfg(feature = "torch")]
mod setup;
mod shell;
#[cfg(feature = "torch")]
mod stage;
#[cfg(feature = "torch")]
mod sweep;
mod tournament;
#[cfg(feature = "torch")]
mod train;
mod verify;

pub(crate) use analyze::with_two_hyphens;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "torch")]
    Run(run::Args),
    #[cfg(feature = "torch")]
    Selfplay(selfplay::Args),
    #[cfg(feature = "torch")]
    Train(Box<train::Args>),
    #[cfg(feature = "torch")]
    Gate(gate::Args),
    Match(match_::Args),
    Tournament(tournament::Args),
    Rate(rate::Args),
    #[cfg(feature = "torch")]
    Sweep(sweep::Args),
    Gtp(gtp::Args),
    #[command(visible_alias = "analysis")]
    Analyze(analyze::Args),
    #[cfg(feature = "torch")]
    #[command(subcommand)]
    Config(config::Config),
    #[command(subcommand)]
    Data(data::Data),
    #[command(subcommand)]
    Model(model::Command),
    #[command(subcommand)]
    Rules(rules::Rules),
    Report(report::Args),
    Serve(serve::Args),
    Verify(verify::Args),
    #[cfg(feature = "torch")]
    Doctor(doctor::Args),
    #[cfg(feature = "torch")]
    Setup(setup::Args),
    #[command(subcommand)]
    Bench(bench::Bench),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            #[cfg(feature = "torch")]
            Command::Run(args) => run::run(args),
            #[cfg(feature = "torch")]
            Command::Selfplay(args) => selfplay::run(args),
            #[cfg(feature = "torch")]
            Command::Train(args) => train::run(*args),
            #[cfg(feature = "torch")]
            Command::Gate(args) => gate::run(args),
            Command::Match(args) => match_::run(args),
            Command::Tournament(args) => tournament::run(args),
            Command::Rate(args) => rate::run(args),
            #[cfg(feature = "torch")]
            Command::Sweep(args) => sweep::run(args),
            Command::Gtp(args) => gtp::run(args),
            Command::Analyze(args) => analyze::run(args),
            #[cfg(feature = "torch")]
            Command::Config(command) => config::run(command),
            Command::Data(command) => data::run(command),
            Command::Model(command) => model::run(command),
            Command::Rules(command) => rules::run(command),
            Command::Report(args) => report::run(args),
            Command::Serve(args) => serve::run(args),
            Command::Verify(args) => verify::run(args),
            #[cfg(feature = "torch")]
            Command::Doctor(args) => doctor::run(args),
            #[cfg(feature = "torch")]
            Command::Setup(args) => setup::run(args),
            Command::Bench(command) => bench::run(command),
            Command::Completions(args) => shell::completions(args),
            Command::Man(args) => shell::man(args),
        }
    }
}
