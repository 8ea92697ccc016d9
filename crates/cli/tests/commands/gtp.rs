//! Runs `tengen gtp`.

use std::io::{BufRead, BufReader, Read, Write};

use crate::common::{Answer, answer, start, tengen};

/// Sends `input` to an engine and waits for it to end.
fn talk(args: &[&str], input: &[u8]) -> Answer {
    let mut child = start(&[&["gtp"], args].concat());
    child.stdin.take().unwrap().write_all(input).unwrap();
    let answer = answer(child.wait_with_output().unwrap());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    answer
}

/// The answers, without the empty lines between them.
fn answers(answer: &Answer) -> Vec<&str> {
    answer
        .stdout
        .split("\n\n")
        .map(str::trim_end)
        .filter(|text| !text.is_empty())
        .collect()
}

#[test]
fn plays_a_game_with_all_common_commands() {
    let input = b"1 protocol_version\n2 boardsize 3\n3 komi 0.5\nplay b B2\n# a comment\n\nplay w pass\n\
        genmove b\nfinal_score\nundo\nundo\nundo\nplay w A1\nshowboard\nquit\n";
    let answer = talk(&["--model", "uniform", "--visits", "32"], input);
    let answers = answers(&answer);
    assert_eq!(&answers[..3], ["=1 2", "=2", "=3"]);
    // A Black pass ends the game with all points Black's; nothing is better.
    assert_eq!(answers[5], "= pass");
    assert_eq!(answers[6], "= B+8.5");
    assert!(answers[11].contains('O'), "{answers:?}");
}

#[test]
fn handles_rectangles_line_endings_and_invalid_bytes() {
    let input = b"rectangular_boardsize 4 2\r\nquery_boardsize\r\n\xff\xfe\r\nkomi 7.3\r\nboardsize 20\r\n\
        play b Z9\ngenmove w\nname";
    let answer = talk(&["--model", "random"], input);
    let answers = answers(&answer);
    assert!(answers[1].contains('4') && answers[1].contains('2'), "{answers:?}");
    assert!(answers[2..6].iter().all(|text| text.starts_with('?')), "{answers:?}");
    assert_eq!(
        *answers.last().unwrap(),
        "= Tengen",
        "the last line needs no line ending"
    );
}

#[test]
fn an_endless_line_is_harmless() {
    let mut input = vec![b'x'; 3 << 20];
    input.extend_from_slice(b"\nname\n");
    let answer = talk(&["--model", "random"], &input);
    assert_eq!(answers(&answer).len(), 2, "one refusal, one answer");
}

#[test]
fn analysis_reports_moves_with_winrates() {
    let input = b"boardsize 3\nkata-genmove_analyze b 10\nquit\n";
    let answer = talk(&["--model", "uniform", "--visits", "32"], input);
    let report = answers(&answer)[1];
    assert!(
        report.starts_with("=\ninfo move ") && report.contains(" winrate 0."),
        "{report}"
    );
    assert!(report.contains("\nplay "), "{report}");
    let visits: Vec<u32> = report
        .split(" visits ")
        .skip(1)
        .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(visits.iter().sum::<u32>(), 32, "every visit is shown: {report}");
}

#[test]
fn live_analysis_ends_at_the_next_line() {
    let answer = talk(
        &["--model", "uniform"],
        b"boardsize 3\nkata-analyze 1 ownership true\nname\n",
    );
    let answers = answers(&answer);
    assert_eq!(*answers.last().unwrap(), "= Tengen", "{answers:?}");
}

#[test]
fn limits_apply_and_can_change_during_a_session() {
    let input = b"boardsize 5\nkata-get-param maxVisits\nkata-set-param maxVisits 7\nkata-genmove_analyze b 1000\n\
        kata-set-param maxVisits none\nkata-set-param maxTime 0\nlz-genmove_analyze w 1000\nkata-set-param maxTime x\n\
        kata-set-param maxVisits -1\nkata-get-param maxTime\nkata-analyze b 1 ownership true allow b A1 1\n";
    let answer = talk(&["--model", "uniform", "--visits", "32"], input);
    let answers = answers(&answer);
    let visits = |text: &str| -> u32 {
        let counts = text
            .split(" visits ")
            .skip(1)
            .map(|rest| rest.split(' ').next().unwrap());
        counts.map(|count| count.parse::<u32>().unwrap()).sum()
    };
    assert_eq!(answers[1], "= 32");
    assert_eq!(visits(answers[3]), 7, "{answers:?}");
    // With no time at all the search makes only a few visits.
    assert!((1..40).contains(&visits(answers[6])), "{answers:?}");
    assert_eq!(answers[7], "? maxTime takes seconds or none, not x");
    assert_eq!(answers[8], "? maxVisits takes a whole number or none, not -1");
    assert_eq!(answers[9], "= 0", "a wrong value changes nothing: {answers:?}");
}

#[test]
fn the_engine_ends_when_its_controller_disconnects() {
    let mut child = start(&["gtp", "--model", "uniform"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"kata-analyze 1\n").unwrap();
    drop(child.stdout.take());
    // Standard input stays open; the engine notices when it writes.
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    drop(stdin);
}

#[test]
fn games_are_loaded_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sgf");
    std::fs::write(&path, "(;GM[1]FF[4]SZ[5]KM[2.5];B[cc];W[bb];B[dd])").unwrap();
    let input = format!(
        "loadsgf {0} 3\nfinal_score\nquery_boardsize\nloadsgf {0}x\nquit\n",
        path.display()
    );
    let answer = talk(&["--model", "uniform"], input.as_bytes());
    let answers = answers(&answer);
    assert_eq!(answers[1], "= W+2.5", "two moves on the board");
    assert!(
        answers[3].starts_with('?') && answers[3].contains("game.sgfx"),
        "{answers:?}"
    );
}

#[test]
fn loadsgf_adopts_supported_rules() {
    let folder = tempfile::tempdir().unwrap();
    for (name, rules, said) in [
        ("AGA", "aga", "using the file's rules: aga"),
        (
            "Japanese",
            "simplified_ing",
            "keeping the session's rules, not the file's: the rules 'japanese'",
        ),
    ] {
        let path = folder.path().join("game.sgf");
        std::fs::write(&path, format!("(;GM[1]FF[4]SZ[5]RU[{name}];B[cc])")).unwrap();
        let input = format!("loadsgf {}\nkata-get-rules\nquit\n", path.display());
        let answer = talk(&["--model", "uniform", "--rules", "simplified_ing"], input.as_bytes());
        assert!(answers(&answer)[1].contains(rules), "{}", answer.stdout);
        assert!(answer.stderr.contains(said), "{}", answer.stderr);
    }
}

#[test]
fn usage_errors_are_one_sentence() {
    tengen(&["gtp", "--model", "unifrom"]).refuses(2, "did you mean 'uniform'?");
    tengen(&["gtp", "--model", "uniform,visits=3"]).refuses(2, "--visits");
    tengen(&["gtp", "--model", "gtp:gnugo"]).refuses(2, "not another engine");
    tengen(&["gtp", "--model", "uniform", "--komi", "7.3"]).refuses(2, "7.3");
    tengen(&["gtp", "--model", "store:/no/such/store"]).refuses(1, "/no/such/store");
    tengen(&["gtp", "--model", "model:/no/such/model"]).refuses(1, "/no/such/model");
}

/// A search of more visits than can be made in a day ends with `quit` and when the input ends. The first report comes
/// half a second after the start of the search.
#[test]
fn quit_and_the_end_of_the_input_end_a_search_in_progress() {
    for (last, answer) in [("quit\n", "play pass\n\n= \n\n"), ("", "play pass\n\n")] {
        assert!(rest_of_a_long_search(last).ends_with(answer), "{last:?}");
    }
}

/// What the engine says after its first report, once it has been sent these lines and its input has ended.
fn rest_of_a_long_search(last: &str) -> String {
    let mut child = start(&["gtp", "--model", "uniform", "--visits", "4000000000"]);
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"boardsize 1\nlz-genmove_analyze b 50\n").unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("info") {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "the engine has ended");
    }
    input.write_all(last.as_bytes()).unwrap();
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    rest
}
