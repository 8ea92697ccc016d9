//! `tengen config show`: prints every key of a configuration with its value.

use crate::output;

/// Print the whole effective configuration as TOML, with the defaults of all keys that are not set
///
/// The output is itself a valid config file. Optional keys, such as selfplay.komi.fixed_fair, are printed only if they
/// are set. configs/all-keys.toml explains every key.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen config show configs/9x9.toml
  tengen config show configs/9x9.toml --set network.blocks=8 > mine.toml
  tengen config show data/runs/demo --json")]
pub(crate) struct Args {
    /// A config file, or a store (a folder or an address) for the configuration that its run started with
    config: String,
    /// Override a config value, or take it out with KEY=unset; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let config = super::load(&args.config, &args.overrides)?;
    if args.json {
        return output::json(&config);
    }
    output::result(toml::to_string(&config)?.trim_end());
    Ok(())
}
