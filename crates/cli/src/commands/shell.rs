//! `tengen completions` and `tengen man`: what shells and `man` know about the program, made from its own arguments.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use crate::output::{counted, result};

/// Print a script that completes the program's commands and options in a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bash:  tengen completions bash > ~/.local/share/bash-completion/completions/tengen
  zsh:   tengen completions zsh > \"${fpath[1]}/_tengen\"
  fish:  tengen completions fish > ~/.config/fish/completions/tengen.fish

New shells use it.")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Write manual pages: one for the program and one for each command
#[derive(clap::Args)]
#[command(after_help = "Example:
  tengen man ~/.local/share/man/man1 && man tengen-run")]
pub(crate) struct ManArgs {
    /// The folder for the pages; created if it does not exist
    folder: PathBuf,
}

/// Prints the script.
pub(crate) fn completions(args: CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "tengen", &mut script);
    result(String::from_utf8(script)?.trim_end());
    Ok(())
}

/// Writes the pages.
pub(crate) fn man(args: ManArgs) -> anyhow::Result<()> {
    let folder = &args.folder;
    let failed = || format!("cannot write manual pages into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(failed)?;
    clap_mangen::generate_to(crate::Cli::command(), folder).with_context(failed)?;
    let pages = std::fs::read_dir(folder).with_context(failed)?.flatten();
    let pages = pages.filter(|page| page.file_name().to_string_lossy().starts_with("tengen"));
    result(format!(
        "{} in {}",
        counted(pages.count() as u64, "page"),
        folder.display()
    ));
    Ok(())
}
