//! SGF files that trip up readers: encodings, many games, point lists, large boards, huge comments, broken nodes.

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, SHIFT_JIS, UTF_16LE, WINDOWS_1252};

use tengen_records::SgfResult;
use tengen_rules::{Color, Komi, Move, Size};
use tengen_sgf::{
    SgfError, SgfGame, SgfGames, SgfPlace, SgfText, SgfTree, SgfTrees, parse_sgf, read_sgf, read_sgf_bytes,
};

fn one(text: &str) -> SgfGame {
    let mut games = read_sgf(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(games.len(), 1, "{text}");
    games.remove(0)
}

/// The turns in human notation: `B E5`, `W pass`.
fn turns(game: &SgfGame) -> String {
    let turn = |&(color, mv): &(Color, Move)| {
        let color = if color == Color::Black { "B" } else { "W" };
        format!("{color} {}", mv.format(game.size))
    };
    game.moves.iter().map(turn).collect::<Vec<_>>().join(", ")
}

/// The property names and texts of the main line.
fn line(tree: &SgfTree) -> String {
    let mut out = String::new();
    for node in tree.main_line() {
        out.push(';');
        for property in node.properties() {
            let values: Vec<_> = property.values().map(|value| format!("[{}]", value.text())).collect();
            out.push_str(&format!("{}{}", property.name(), values.concat()));
        }
    }
    out
}

#[test]
fn turns_are_read_in_every_notation() {
    for (text, expected) in [
        ("(;SZ[9];B[ee];W[])", "B E5, W pass"),
        ("(;SZ[9];B[ee];W[tt])", "B E5, W pass"),
        ("(;SZ[19];B[tt];W[ss])", "B pass, W T1"),
        ("(;B[aa])", "B A19"),
        ("(;SZ[9]\n;b[ee];w[aa])", "B E5, W A9"),
        ("(;GaMe[1]SiZe[9];Black[ee];White[aa])", "B E5, W A9"),
        ("(;game[1]sz[9];B[ee])", "B E5"),
        ("(SZ[9];B[ee])", "B E5"),
        ("(SZ[9](B[ee](W[aa])(W[bb])))", "B E5, W A9"),
        ("(;SZ[9];;B[ee];;;W[aa];)", "B E5, W A9"),
        ("( ; SZ [9] ; B\r\n[ee] ; W\t[ aa ] )", "B E5, W A9"),
        ("(;SZ[9]\u{a0}\u{3000}\u{feff};B[ee]\0)\u{1a}", "B E5"),
        ("(;SZ[9];B[ee]W[aa])", "B E5, W A9"),
        ("(;SZ[9];C[said before the size of the move]B[ee])", "B E5"),
        ("(;SZ[9]TB[]TW[][]DD[]VW[];B[ee])", "B E5"),
        ("(;SZ[9]XX[unknown][to][us]KGSDE[aa];B[ee])", "B E5"),
        ("(;SZ[9](;B[ee](;W[aa])(;W[bb]))(;B[cc]))", "B E5, W A9"),
        ("(;SZ[9]C[a ; b (c) \\] d];B[ee])", "B E5"),
        ("(;SZ[9:5];B[ie])", "B J1"),
        ("(;SZ[5 : 9];B[ei])", "B E1"),
        ("(;B[ee];W[aa]SZ[9])", "B E5, W A9"),
        ("(;)", ""),
    ] {
        assert_eq!(turns(&one(text)), expected, "{text}");
    }
}

#[test]
fn headers_are_read_in_every_notation() {
    let komi = |half_points| Some(Komi::from_half_points(half_points));
    for (text, expected) in [
        ("6.5", komi(13)),
        ("6,5", komi(13)),
        ("7", komi(14)),
        ("7.", komi(14)),
        (".5", komi(1)),
        ("0", komi(0)),
        ("-5.5", komi(-11)),
        (" 6.50 ", komi(13)),
        ("3.75", None),
        ("six", None),
        ("", None),
    ] {
        let game = one(&format!("(;KM[{text}])"));
        assert_eq!(game.komi, expected, "{text}");
        assert_eq!(
            game.komi_text.unwrap_or_default(),
            text.trim(),
            "the text is kept verbatim"
        );
    }
    for (text, expected) in [("0", Some(0)), ("4", Some(4)), ("", None), ("none", None), ("-1", None)] {
        assert_eq!(one(&format!("(;HA[{text}])")).handicap, expected, "{text}");
    }
    for (text, expected) in [
        ("B", Some(Color::Black)),
        ("white", Some(Color::White)),
        ("2", Some(Color::White)),
        ("x", None),
    ] {
        assert_eq!(one(&format!("(;PL[{text}])")).to_move, expected, "{text}");
    }
    let game =
        one("(;RU[Chinese]PB[A\\]B]PW[one\ntwo \\\nthree]BR[9d]WR[ 1 dan ]RE[B+R]DT[1998-11-05]EV[Cup: final]RE[W+1])");
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    assert_eq!(
        [
            &game.rules,
            &game.black,
            &game.white,
            &game.black_rank,
            &game.white_rank
        ]
        .map(text),
        ["Chinese", "A]B", "one two three", "9d", "1 dan"]
    );
    assert_eq!(
        [&game.result, &game.date, &game.event].map(text),
        ["B+R", "1998-11-05", "Cup: final"]
    );
}

#[test]
fn result_claims_are_parsed() {
    use Color::{Black, White};
    let count = |hundredths| SgfResult::Count { hundredths };
    for (text, expected) in [
        ("B+3.5", count(350)),
        ("W+0.5", count(-50)),
        ("W+3,5", count(-350)),
        ("B+10", count(1000)),
        ("b+1.75", count(175)),
        ("Black+2.50", count(250)),
        ("0", count(0)),
        ("Draw", count(0)),
        ("Jigo", count(0)),
        ("B+R", SgfResult::Resignation(Black)),
        ("W+Resign", SgfResult::Resignation(White)),
        ("W+T", SgfResult::Time(White)),
        ("B+Time", SgfResult::Time(Black)),
        ("W+F", SgfResult::Forfeit(White)),
        ("B+", SgfResult::Won(Black)),
        ("W+0", SgfResult::Won(White)),
        ("W+3.75 zi", SgfResult::Won(White)),
        ("B+1.234", SgfResult::Won(Black)),
        ("B+9999999999", SgfResult::Won(Black)),
        ("Void", SgfResult::Void),
        ("?", SgfResult::Unknown),
        ("", SgfResult::Unknown),
        ("Black wins", SgfResult::Unknown),
        ("+3", SgfResult::Unknown),
    ] {
        assert_eq!(SgfResult::parse(text), expected, "{text}");
        assert_eq!(one(&format!("(;RE[{text}])")).claim(), expected, "{text}");
    }
}

#[test]
fn point_lists_are_read_in_order_including_rectangles() {
    let stones = |text: &str| {
        let game = one(text);
        let show = |&(color, point): &(Option<Color>, _)| {
            let color = color.map_or("-", |color| if color == Color::Black { "B" } else { "W" });
            format!("{color}{}", Move::Play(point).format(game.size))
        };
        game.setup.iter().map(show).collect::<Vec<_>>().join(" ")
    };
    for (text, expected) in [
        ("(;SZ[9]AB[aa][bb])", "BA9 BB8"),
        ("(;SZ[9]AB[aa:cb])", "BA9 BB9 BC9 BA8 BB8 BC8"),
        ("(;SZ[9]AB[ca:aa])", "BA9 BB9 BC9"),
        ("(;SZ[9]AB[ab:ba])", "BA9 BB9 BA8 BB8"),
        ("(;SZ[9]AB[aa:aa][aa])", "BA9 BA9"),
        ("(;SZ[9]AB[aa:ba]AE[ba]AW[ba])", "BA9 BB9 -B9 WB9"),
        ("(;SZ[9]AB[aa]AB[bb])", "BA9 BB8"),
        ("(;SZ[9]AB[][aa])", "BA9"),
        ("(;SZ[9]AB[])", ""),
        ("(;SZ[9];AB[aa];AW[bb];B[cc])", "BA9 WB8"),
        ("(;SZ[9];B[cc]AB[aa])", "BA9"),
    ] {
        assert_eq!(stones(text), expected, "{text}");
        assert_eq!(stones(text), stones(text), "the order never changes");
    }
    let [black, white] = one("(;SZ[9]AB[aa:bb]AE[ab]AW[bb])").setup_stones();
    assert_eq!((black.len(), white.len()), (2, 1));
    let full = one("(;SZ[19]AB[aa:ss]AE[aa])");
    assert_eq!(full.setup_stones()[0].len(), 360);
}

#[test]
fn text_is_unescaped_according_to_the_format() {
    for (raw, text, simple) in [
        ("plain", "plain", "plain"),
        ("a\\]b\\\\c\\:d\\[e", "a]b\\c:d[e", "a]b\\c:d[e"),
        ("soft\\\nbreak", "softbreak", "softbreak"),
        ("soft\\\r\nbreak", "softbreak", "softbreak"),
        ("soft\\\n\rbreak", "softbreak", "softbreak"),
        ("hard\nbreak", "hard\nbreak", "hard break"),
        ("hard\r\nbreak\r\n", "hard\nbreak\n", "hard break"),
        ("old mac\rbreak", "old mac\nbreak", "old mac break"),
        ("two\n\nlines", "two\n\nlines", "two  lines"),
        ("tab\there", "tab here", "tab here"),
        (" spaces ", " spaces ", "spaces"),
        ("", "", ""),
    ] {
        let trees = parse_sgf(&format!("(;C[{raw}])")).unwrap();
        let value = trees[0].root().get("C").unwrap().first().unwrap();
        assert_eq!(
            (value.raw(), &*value.text(), &*value.simple_text()),
            (raw, text, simple)
        );
    }
}

#[test]
fn games_are_found_among_other_text() {
    for (text, expected) in [
        (
            "From: x (John)\nSubject: hi :-(\n\n(;SZ[9];B[ee])\n--\nbye (;-)",
            vec!["B E5"],
        ),
        ("\u{feff}(;SZ[9];B[ee])", vec!["B E5"]),
        ("(;SZ[9];B[ee])(;SZ[9];B[aa])", vec!["B E5", "B A9"]),
        (
            "(;SZ[9];B[ee])\n\n junk ) ] \n(;GM[1]SZ[9];B[aa])\n",
            vec!["B E5", "B A9"],
        ),
    ] {
        let games = read_sgf(text).map(|games| games.iter().map(turns).collect::<Vec<_>>());
        match text.contains("(;-)") {
            // A smiley looks like a game; it is rejected with its position, after the games before it.
            true => {
                let found: Vec<_> = SgfGames::new(text).collect();
                assert_eq!(turns(found[0].as_ref().unwrap()), "B E5");
                assert_eq!(found[1].as_ref().unwrap_err().place(), SgfPlace { line: 6, column: 7 });
            }
            false => assert_eq!(games.unwrap(), expected, "{text}"),
        }
    }
}

fn check_encoding(encoding: &'static Encoding, stated: Option<&str>, name: &str) {
    let ca = stated.map_or(String::new(), |label| format!("CA[{label}]"));
    let text = format!("(;GM[1]FF[4]{ca}SZ[9]PB[{name}]C[{name}];B[ee];W[aa]C[{name}])");
    let (bytes, _, unmappable) = encoding.encode(&text);
    assert!(!unmappable, "{name} in {}", encoding.name());
    let games = read_sgf_bytes(&bytes).unwrap_or_else(|error| panic!("{error}: {name} in {}", encoding.name()));
    assert_eq!(
        games[0].black.as_deref(),
        Some(name),
        "{} stated as {stated:?}",
        encoding.name()
    );
    assert_eq!(turns(&games[0]), "B E5, W A9");
}

#[test]
fn every_encoding_is_read_stated_and_guessed() {
    // The names include characters whose second byte is `\`, `]` or `[` in some encoding.
    for (encoding, labels, name) in [
        (GB18030, ["GB18030", "gb2312", "GBK", "cp936"], "聂卫平 九段 围棋 誠榎"),
        (
            BIG5,
            ["Big5", "big5-hkscs", "cp950", "BIG5"],
            "周俊勳 九段 功許蓋 棋聖戰",
        ),
        (
            SHIFT_JIS,
            ["Shift_JIS", "sjis", "cp932", "windows-31j"],
            "第1回 本因坊戦 ソ表能 井上因碩",
        ),
        (
            EUC_KR,
            ["EUC-KR", "cp949", "ks_c_5601-1987", "korean"],
            "이창호 9단 흑 불계승",
        ),
        (
            EUC_JP,
            ["EUC-JP", "euc-jp", "x-euc-jp", "EUC-jp"],
            "本因坊 秀策 ひらがな",
        ),
        (
            WINDOWS_1252,
            ["ISO-8859-1", "latin1", "windows-1252", "cp1252"],
            "Müller Grüße Øystein",
        ),
    ] {
        for label in labels {
            check_encoding(encoding, Some(label), name);
        }
        check_encoding(encoding, None, name);
        // A wrong or unknown name does no harm if the bytes are unambiguous.
        check_encoding(encoding, Some("x-martian"), name);
        check_encoding(encoding, Some("UTF-8"), name);
    }
    for stated in [
        None,
        Some("UTF-8"),
        Some("utf8"),
        Some("ISO-8859-1"),
        Some("gb2312"),
        Some("UTF-16"),
    ] {
        check_encoding(encoding_rs::UTF_8, stated, "柯洁 Müller 이세돌 😀");
    }
}

#[test]
fn multi_byte_characters_containing_brackets_do_not_end_values() {
    // In GBK the second bytes of these characters are `\`, `]`, `[` and `|`.
    let (bytes, _, _) = GB18030.encode("(;SZ[9]CA[GBK]PB[誠榎嘯]C[峔乗];B[ee])");
    assert!(
        bytes.contains(&b'\\'),
        "the example holds a backslash inside a character"
    );
    assert_eq!(read_sgf_bytes(&bytes).unwrap()[0].black.as_deref(), Some("誠榎嘯"));
    // Four-byte characters, two of whose bytes are digits.
    check_encoding(GB18030, Some("GB18030"), "\u{20ac7}\u{1d11e}");
}

#[test]
fn byte_order_marks_decide() {
    let text = "(;CA[Big5]SZ[9]PB[柯洁];B[ee])";
    let mut utf8 = b"\xef\xbb\xbf".to_vec();
    utf8.extend(text.as_bytes());
    assert_eq!(read_sgf_bytes(&utf8).unwrap()[0].black.as_deref(), Some("柯洁"));
    let mut utf16 = b"\xff\xfe".to_vec();
    utf16.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(SgfText::decode(&utf16).encoding, UTF_16LE.name());
    assert_eq!(read_sgf_bytes(&utf16).unwrap()[0].black.as_deref(), Some("柯洁"));
}

#[test]
fn games_of_different_encodings_in_one_file_are_read() {
    let mut bytes = Vec::new();
    for (encoding, label, name) in [
        (GB18030, "GB2312", "柯洁"),
        (SHIFT_JIS, "Shift_JIS", "本因坊秀策"),
        (encoding_rs::UTF_8, "UTF-8", "이세돌"),
        (WINDOWS_1252, "ISO-8859-1", "Müller"),
    ] {
        bytes.extend(&*encoding.encode(&format!("(;FF[4]CA[{label}]PB[{name}];B[aa])\n")).0);
    }
    let names: Vec<_> = read_sgf_bytes(&bytes)
        .unwrap()
        .into_iter()
        .filter_map(|game| game.black)
        .collect();
    assert_eq!(names, ["柯洁", "本因坊秀策", "이세돌", "Müller"]);
    assert!(!SgfText::decode(&bytes).is_damaged);
}

#[test]
fn undecodable_bytes_are_replaced() {
    let bytes = b"(;CA[UTF-8]SZ[9]PB[\xff\xfe\x80\x81 abc \xe4\xb8];B[ee])";
    let games = read_sgf_bytes(bytes).unwrap();
    assert_eq!(turns(&games[0]), "B E5");
    assert!(games[0].black.as_deref().unwrap().contains("abc"));
}

#[test]
fn a_decoded_tree_states_utf_8() {
    let (bytes, _, _) = GB18030.encode("(;CA[GB18030]PB[柯洁])");
    let trees = parse_sgf(&SgfText::decode(&bytes).text).unwrap();
    let text = trees[0].to_string();
    assert_eq!(text, "(;CA[UTF-8]PB[柯洁])\n");
    assert_eq!(parse_sgf(&SgfText::decode(text.as_bytes()).text).unwrap(), trees);
}

#[test]
fn boards_up_to_52x52_parse_as_trees_with_uppercase_points() {
    let text = "(;SZ[52];B[ZZ];W[aZ];B[Aa];W[tt];B[])";
    let trees = parse_sgf(text).unwrap();
    assert_eq!(trees[0].to_string().replace('\n', ""), text);
    let points: Vec<_> = trees[0]
        .main_line()
        .skip(1)
        .map(|node| node.properties().next().unwrap().first().unwrap().point())
        .map(|point| point.map(|point| (point.column, point.row, point.to_string())))
        .collect();
    let point = |column, row, text: &str| Some((column, row, text.to_owned()));
    assert_eq!(
        points,
        [
            point(51, 51, "ZZ"),
            point(0, 51, "aZ"),
            point(26, 0, "Aa"),
            point(19, 19, "tt"),
            None
        ]
    );
    let error = read_sgf(text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 3: expected a board of 1x1 to 19x19, found SZ[52]"
    );
}

#[test]
fn huge_comments_and_deep_trees_are_read() {
    let words = "a long \\] comment \\\\ of words\n".repeat(150_000);
    let text = format!("(;SZ[9]C[{words}];B[ee]C[{words}])");
    assert!(text.len() > 8_000_000);
    let trees = parse_sgf(&text).unwrap();
    let comment = trees[0].root().get("C").unwrap().first().unwrap().text().into_owned();
    assert_eq!(comment.len(), words.len() - 2 * 150_000);
    assert_eq!(parse_sgf(&trees[0].to_string()).unwrap(), trees);

    let row = format!("(;SZ[19]{})", ";B[aa];W[bb]".repeat(100_000));
    assert_eq!(one(&row).moves.len(), 200_000);
    let deep = format!("{}{}", "(;B[aa]".repeat(100_000), ")".repeat(100_000));
    let trees = parse_sgf(&deep).unwrap();
    assert_eq!(trees[0].node_count(), 100_000);
    assert_eq!(parse_sgf(&trees[0].to_string()).unwrap(), trees);
    let forks = format!("{}{}", "(;B[aa](;W[bb])".repeat(50_000), ")".repeat(50_000));
    let trees = parse_sgf(&forks).unwrap();
    assert_eq!(parse_sgf(&trees[0].to_string()).unwrap(), trees);
    let wide = format!("(;SZ[9]{})", "(;B[aa])".repeat(100_000));
    let trees = parse_sgf(&wide).unwrap();
    assert_eq!(trees[0].root().children().count(), 100_000);
    assert_eq!(parse_sgf(&trees[0].to_string()).unwrap(), trees);
}

#[test]
fn trees_keep_unknown_properties() {
    for (text, expected) in [
        (
            "(;FF[4]AP[x:1]LB[aa:1][bb:two];C[\\:]N[n])",
            ";FF[4]AP[x:1]LB[aa:1][bb:two];C[:]N[n]",
        ),
        ("(;TB[]DD[];W[])", ";TB[]DD[];W[]"),
        ("(;Comment[x]WhiteSpec[y])", ";C[x]WS[y]"),
        ("(;B[aa](;W[bb];B[cc])(;W[dd]))", ";B[aa];W[bb];B[cc]"),
        ("(;B[aa](;W[bb](;B[cc])))", ";B[aa];W[bb];B[cc]"),
        ("(;B[aa]())", ";B[aa]"),
        ("(;B[aa]( ;SZ[9])(\n;GM[1]))", ";B[aa];SZ[9]"),
    ] {
        let trees = parse_sgf(text).unwrap();
        assert_eq!(line(&trees[0]), expected);
        assert_eq!(parse_sgf(&trees[0].to_string()).unwrap(), trees, "{text}");
    }
}

fn rejects(text: &str, line: usize, column: usize, words: &str) -> SgfError {
    let error = read_sgf(text).expect_err(text);
    assert_eq!((error.line, error.column), (line, column), "{error} in {text:?}");
    assert!(error.to_string().contains(words), "expected {words:?} in: {error}");
    error
}

#[test]
fn broken_input_is_rejected_with_its_position() {
    rejects("", 1, 1, "found none: nothing");
    rejects(" \n ", 1, 1, "found none: nothing");
    rejects("no game", 1, 1, "starts with 'n'");
    rejects("PK\u{3}\u{4}binary\0(\0)", 1, 1, "found none");
    rejects(";GM[1];B[aa]", 1, 1, "found none");
    rejects("()", 1, 1, "found none");
    rejects("(;SZ[9]\n;B[ee]", 2, 7, "expected ')', found the end of the text");
    rejects("(;SZ[9]\n;B[ee", 2, 3, "expected ']' at the end of this value");
    rejects("(;SZ[9]\n;B[ee\\]", 2, 3, "expected ']' at the end of this value");
    rejects("(;SZ[9]\n;B[ee\\", 2, 3, "expected ']' at the end of this value");
    rejects(
        "(;SZ[9]\r\n;C[x\ry\r\nz]B[jj])",
        4,
        3,
        "expected a point on 9x9 or nothing, found \"jj\"",
    );
    rejects(
        "(;SZ[9];B[ee]\n!)",
        2,
        1,
        "expected ';', '(', ')' or a property, found '!'",
    );
    rejects("(;SZ[9]\nB;W[aa])", 2, 2, "expected '[' after property B, found ';'");
    rejects(
        "(;SZ[9]\nB",
        2,
        2,
        "expected '[' after property B, found the end of the text",
    );
    rejects(
        "(;SZ[9](;B[aa])\n;W[bb])",
        2,
        1,
        "expected '(' or ')' after a variation, found ';'",
    );
    rejects("(;SZ[9](;B[aa])C[x])", 1, 16, "after a variation");
    rejects("(;SZ[9];B[aa][bb])", 1, 9, "expected one move").turn.unwrap();
    rejects("(;SZ[9];B[aaa])", 1, 9, "found \"aaa\"");
    rejects("(;SZ[9];B[a])", 1, 9, "found \"a\"");
    rejects("(;SZ[9];B[19])", 1, 9, "found \"19\"");
    rejects("(;SZ[9];B[jj])", 1, 9, "9x9");
    rejects("(;SZ[9];W[AA])", 1, 9, "9x9");
    rejects("(;SZ[9]AB[aa][aj])", 1, 8, "expected points on 9x9, found \"aj\"");
    rejects("(;SZ[9]AB[aa:])", 1, 8, "found \"aa:\"");
    rejects("(;SZ[9]AW[aa:jj])", 1, 8, "found \"aa:jj\"");
    rejects("(;SZ[0])", 1, 3, "SZ[0]");
    rejects("(;SZ[20])", 1, 3, "expected a board of 1x1 to 19x19, found SZ[20]");
    rejects("(;SZ[nine])", 1, 3, "SZ[nine]");
    rejects("(;SZ[9:])", 1, 3, "SZ[9:]");
    rejects("(;SZ[])", 1, 3, "SZ[]");
    rejects("(;GM[2]SZ[9])", 1, 3, "expected Go (GM[1]), found GM[2]");
    rejects("(;SZ[9];B[aa]\n;AB[bb])", 2, 2, "found some");
    rejects("柯洁(;SZ[9]PB[柯洁];B[zz])", 1, 17, "\"zz\"");
    let long = "x".repeat(500);
    let error = rejects(&format!("(;SZ[9];B[{long}])"), 1, 9, "...");
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn reading_continues_after_a_broken_game() {
    let good = "(;GM[1]SZ[9];B[ee])";
    for (broken, line, column) in [
        ("(;GM[1]SZ[9];B[ee]", 2, 1),
        ("(;GM[1]SZ[9];B[zz])", 1, 14),
        ("(;GM[1]SZ[9];B[ee]!;W[aa])", 1, 19),
        ("(;GM[1]SZ[9];B;W[aa](;B[bb])(;B[cc]))", 1, 15),
        // The missing bracket swallows the start of the next game.
        ("(;GM[1]SZ[9];B[ee)", 2, 1),
    ] {
        let text = format!("{broken}\n{good}\n{good}");
        let games: Vec<_> = SgfGames::new(&text).collect();
        let errors: Vec<_> = games.iter().filter_map(|game| game.as_ref().err()).collect();
        assert_eq!(errors.len(), 1, "{text}: {errors:?}");
        assert_eq!(games.iter().position(Result::is_err), Some(0), "{text}");
        assert!(
            games.len() == 3 && games[1..].iter().flatten().all(|game| turns(game) == "B E5"),
            "{text}"
        );
        if line == 1 {
            assert_eq!((errors[0].line, errors[0].column), (line, column), "{}", errors[0]);
        }
    }
}

/// Games that begin with a player's name, or hold nothing that only a first node has, are found after a broken one too.
#[test]
fn games_after_a_broken_one_need_no_special_start() {
    for (names, setup) in [
        ("PB[a]", "SZ[9]"),
        ("PB[a]PW[b]KM[0]", "SZ[9]"),
        ("PB[a]C[(;B[x\\]) \\]]", ""),
    ] {
        let good = format!("(;{names}{setup};B[ee](;W[aa])(;W[bb]))");
        for broken in [
            format!("(;{names}{setup} 9 ;B[ee](;W[aa])(;W[bb]))"),
            format!("(;{names}{setup};B;W[aa](;B[bb])(;B[cc]))"),
            format!("(;{names}{setup};B[ee](;W[aa])x(;W[bb]))"),
        ] {
            let text = format!("{good}\n{broken}\n{good}{broken}{good}");
            let mut games = SgfGames::new(&text);
            let found: Vec<bool> = games.by_ref().map(|game| game.is_ok()).collect();
            assert_eq!(found, [true, false, true, false, true], "{text}");
            assert_eq!(games.unread(), None, "{text}");
        }
    }
}

/// What cannot be divided into games is not passed over in silence.
#[test]
fn text_that_is_not_read_is_reported() {
    let mut games = SgfGames::new("(;PB[a];B[ee)\n(;B[aa]C;");
    assert_eq!(games.by_ref().filter(Result::is_err).count(), 1);
    assert_eq!(games.unread(), None, "there is only one game");
    let text = "(;PB[a]C ;B[ee(;PB[b];B[aa]W[";
    let mut games = SgfGames::new(text);
    assert_eq!(games.by_ref().filter(Result::is_err).count(), 1);
    let unread = games.unread().expect("a second game").to_string();
    assert!(unread.contains("bytes of the text were not read"), "{unread}");
    // Each game begins in the value of the one before, which ends at the end of the text.
    let text = format!("{}]!", "(;GM[".repeat(1000));
    let mut games = SgfGames::new(&text);
    let broken = games.by_ref().filter(Result::is_err).count();
    assert!(broken < 20 && games.unread().is_some(), "{broken} of 1000");
    let text = "(;SZ[5];B[cc".repeat(1000);
    let mut games = SgfGames::new(&text);
    let broken = games.by_ref().filter(Result::is_err).count();
    assert!(games.unread().is_some(), "{broken} of 1000");
}

/// A small file must not become a large game.
#[test]
fn games_that_would_take_too_much_memory_are_rejected() {
    let reason = |text: String| SgfGames::new(&text).find_map(Result::err).expect("too large").problem;
    let stones = format!("(;SZ[19]AB{})", "[aa:ss]".repeat(100_000));
    assert!(reason(stones).contains("16384 stones"));
    let nodes = format!("(;SZ[19]{})", ";".repeat(1 << 21));
    assert!(reason(nodes).contains("1048576 nodes"));
    let depth = format!("(;SZ[19]{}", "(".repeat(1 << 21));
    assert!(reason(depth).contains("1048576 nodes and open parentheses"));
    let values = format!("(;SZ[19]{})", "X[]".repeat((1 << 22) + 1));
    assert!(reason(values).contains("4194304 values"));
}

/// Malicious files must not take time quadratic in their length.
#[test]
fn malicious_files_are_rejected_quickly() {
    for unit in [
        "(;GM[1",
        "(;GM[1]",
        "(;GM[1]C[\\",
        "(",
        "(;",
        "((((",
        "]",
        "(;GM[1])(",
        "(;B[aa]AB[",
        "(;SZ[9]SZ[9]C[",
        "(;SZ[9]C[(;SZ[9]",
        "(;PB[a]C[(;PB[a]C[",
        "\\",
        ";",
    ] {
        let text = unit.repeat(1_000_000 / unit.len());
        let trees = SgfTrees::new(&text).filter(Result::is_ok).count();
        assert!(trees <= text.len() / 4, "{unit}");
        let _ = read_sgf_bytes(text.as_bytes());
        let mut odd = text.into_bytes();
        odd.extend(b"\xff\x80CA[big5]");
        let _ = read_sgf_bytes(&odd);
    }
}

#[test]
fn width_and_height_are_not_confused() {
    for (text, size) in [
        ("(;SZ[9:5])", (9, 5)),
        ("(;SZ[1])", (1, 1)),
        ("(;SZ[19:1])", (19, 1)),
        ("(;)", (19, 19)),
    ] {
        assert_eq!(one(text).size, Size::new(size.0, size.1).unwrap());
    }
}
