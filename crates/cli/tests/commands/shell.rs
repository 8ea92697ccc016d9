//! `tengen completions` and `tengen man`: shells accept the scripts, and every command has a page.

use std::process::{Command, Stdio};

use crate::common::tengen;

#[test]
fn bash_accepts_its_completions_and_others_name_the_commands() {
    let script = |shell: &str| {
        let answer = tengen(&["completions", shell]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stdout
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("tengen.bash");
    std::fs::write(&file, script("bash")).expect("writable");
    let check = format!("source {} && complete -p tengen", file.display());
    let complete = Command::new("bash").args(["-c", &check]).stderr(Stdio::null()).output();
    let complete = String::from_utf8(complete.expect("bash").stdout).expect("UTF-8");
    assert!(complete.contains("_tengen"), "{complete}");
    for shell in ["zsh", "fish"] {
        let script = script(shell);
        assert!(script.contains("tournament") && script.contains("openings"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let into = folder.path().join("man1");
    let answer = tengen(&["man", into.to_str().expect("UTF-8")]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    for page in ["tengen.1", "tengen-match.1", "tengen-data-export.1"] {
        let text = std::fs::read_to_string(into.join(page)).expect(page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    let refused = tengen(&["man", "/proc/nothing"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("cannot write manual pages into /proc/nothing"));
}

/// A line that breaks in a terminal of 80 columns cannot be pasted from there.
#[cfg(all(feature = "torch", not(feature = "cloud")))]
fn examples_fit(page: &str) {
    let (_, examples) = page.split_once("Examples:\n").unwrap_or_default();
    let commands = examples.lines().take_while(|line| line.starts_with("  "));
    for line in commands {
        assert!(line.chars().count() <= 80, "more than 80 columns: {line}");
    }
}

/// Builds without libtorch or with stores in the cloud have other commands and texts.
#[cfg(all(feature = "torch", not(feature = "cloud")))]
#[test]
fn the_pages_of_help_in_the_documentation_are_current() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let answer = tengen(&["man", "--markdown", folder.path().to_str().expect("UTF-8")]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/help");
    let read = |folder: &std::path::Path| -> std::collections::BTreeMap<String, String> {
        let files = std::fs::read_dir(folder).expect("docs/help").flatten();
        files
            .map(|file| {
                let text = std::fs::read_to_string(file.path()).expect("UTF-8");
                (file.file_name().to_string_lossy().into_owned(), text)
            })
            .collect()
    };
    let (new, kept) = (read(folder.path()), read(&kept));
    new.values().for_each(|page| examples_fit(page));
    assert!(new.len() > 40 && new["tengen-data-export.md"].contains("--format"));
    for (file, text) in &new {
        assert_eq!(
            kept.get(file),
            Some(text),
            "{file} has changed: run `tengen man --markdown docs/help`"
        );
    }
    assert_eq!(
        new.len(),
        kept.len(),
        "docs/help has pages of commands that are gone: delete them"
    );
}
