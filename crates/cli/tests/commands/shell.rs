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
