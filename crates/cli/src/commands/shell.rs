//! `tengen completions` and `tengen man`: shell completions and manual pages, made from the program's own arguments.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::CommandFactory;

use crate::output::{counted, result};

/// Print a script that completes the program's commands and options in a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen completions bash > ~/.local/share/bash-completion/completions/tengen
  tengen completions zsh > \"${fpath[1]}/_tengen\"
  tengen completions fish > ~/.config/fish/completions/tengen.fish

New shells use it.")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Write manual pages: one for the program and one for each command
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tengen man ~/.local/share/man/man1 && man tengen-run
  tengen man --markdown docs/help")]
pub(crate) struct ManArgs {
    /// The folder for the pages; created if it does not exist
    folder: PathBuf,
    /// Write Markdown pages with the text of `--help` instead
    #[arg(long)]
    markdown: bool,
}

/// The width of the text in Markdown pages.
const COLUMNS: usize = 100;

pub(crate) fn completions(args: CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "tengen", &mut script);
    result(String::from_utf8(script)?.trim_end());
    Ok(())
}

/// Writes a Markdown page for every command, and a list of them.
fn markdown(folder: &Path) -> anyhow::Result<()> {
    let mut program = crate::Cli::command().term_width(COLUMNS);
    program.build();
    let mut pages = Vec::new();
    help_pages(&program, &mut pages);
    let list: String = pages
        .iter()
        .map(|(name, about, _)| format!("- [`{name}`]({}): {about}\n", file_of(name)))
        .collect();
    let list = format!("# Help of every command\n\nWritten by `tengen man --markdown docs/help`.\n\n{list}");
    let texts = pages.iter().map(|(name, _, text)| (file_of(name), text.clone()));
    for (file, text) in texts.chain([("README.md".to_owned(), list)]) {
        let path = folder.join(file);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    result(format!(
        "{} in {}",
        counted(pages.len() as u64, "page"),
        folder.display()
    ));
    Ok(())
}

/// Adds the name, the first sentence, and the page of a command or, if it has subcommands, of every command below it.
fn help_pages(command: &clap::Command, pages: &mut Vec<(String, String, String)>) {
    let shown = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help");
    let mut inner = shown.peekable();
    if inner.peek().is_some() {
        return inner.for_each(|command| help_pages(command, pages));
    }
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.clone().term_width(COLUMNS).render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let text = format!("# {name}\n\n```text\n{}\n```\n", lines.join("\n"));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    pages.push((name, about, text));
}

/// The file of a command's page.
fn file_of(name: &str) -> String {
    format!("{}.md", name.replace(' ', "-"))
}

pub(crate) fn man(args: ManArgs) -> anyhow::Result<()> {
    let folder = &args.folder;
    let failed = || format!("cannot write manual pages into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(failed)?;
    if args.markdown {
        return markdown(folder);
    }
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
