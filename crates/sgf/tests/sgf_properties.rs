//! SGF under random input: nothing panics, round trips are exact, and another parser agrees.

use proptest::prelude::*;

use tengen_sgf::{SgfGames, SgfText, SgfTree, SgfTrees, parse_sgf, read_sgf_bytes};

/// Reads bytes in every way and requires that each tree survives a round trip through its text.
fn check_bytes(bytes: &[u8]) {
    let decoded = SgfText::decode(bytes);
    for tree in SgfTrees::new(&decoded.text).flatten() {
        let text = tree.to_string();
        assert_eq!(parse_sgf(&text).as_deref(), Ok(&[tree][..]), "{text:?}");
    }
    for game in SgfGames::new(&decoded.text).flatten() {
        assert_eq!(game.moves.len(), game.places.len());
        assert!(
            game.setup_stones()
                .iter()
                .all(|stones| stones.len() <= game.size.area())
        );
    }
    let _ = read_sgf_bytes(bytes);
}

/// Pieces of SGF in any order, which reach more corners of the parser than random characters do.
fn sgf_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("(".into()),
        Just("(;".into()),
        Just(")".into()),
        Just(";".into()),
        Just("[".into()),
        Just("]".into()),
        Just("\\".into()),
        Just("\r\n".into()),
        Just("(;GM[1]FF[4]SZ[9]".into()),
        Just("SZ[9:5]".into()),
        Just("CA[GB2312]".into()),
        Just("CA[Shift_JIS]".into()),
        Just("KM[6,5]HA[2]RE[B+3.5]".into()),
        "[A-Za-z]{1,3}\\[[a-zA-Z:]{0,5}\\]",
        "(B|W|AB|AW|AE)\\[[a-i]{2}(:[a-i]{2})?\\]",
        "C\\[[^\\]\\\\]{0,6}\\]",
        any::<char>().prop_map(String::from),
    ];
    let bytes = prop_oneof![
        20 => piece.prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(bytes, 0..40).prop_map(|pieces| pieces.concat())
}

/// A tree built step by step: after each node, how far up the next one is attached and what it contains.
fn tree() -> impl Strategy<Value = SgfTree> {
    let value = prop_oneof!["[a-zA-Z]{0,2}", any::<String>()];
    let property = (
        prop_oneof![10 => "[A-Z][A-Z0-9]{0,2}", 1 => "(SZ|FF|AP)"],
        prop::collection::vec(value, 1..4),
    );
    let property = property.prop_filter("the tree itself sets CA to UTF-8", |(name, _)| name != "CA");
    let node = (0usize..6, prop::collection::vec(property, 0..4));
    prop::collection::vec(node, 1..30).prop_map(|nodes| {
        let mut tree = SgfTree::new();
        let mut path = vec![tree.root().id()];
        for (number, (up, properties)) in nodes.into_iter().enumerate() {
            if number > 0 {
                path.truncate(path.len().saturating_sub(up).max(1));
                path.push(tree.add_node(path[path.len() - 1]));
            }
            for (name, values) in properties {
                tree.add(&name, values.iter().map(String::as_str));
            }
        }
        tree
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_bytes(&bytes);
    }

    #[test]
    fn sgf_like_input_never_panics(bytes in sgf_like()) {
        check_bytes(&bytes);
    }

    #[test]
    fn trees_survive_a_round_trip(trees in prop::collection::vec(tree(), 1..4)) {
        let text: String = trees.iter().map(SgfTree::to_string).collect();
        prop_assert_eq!(parse_sgf(&text).unwrap(), trees);
    }

    #[test]
    fn texts_survive_a_round_trip(text in "[^\\r\\x00-\\x09\\x0b-\\x1f\\x7f]*") {
        let mut tree = SgfTree::new();
        tree.add("C", [text.as_str()]);
        let read = parse_sgf(&tree.to_string()).unwrap();
        prop_assert_eq!(read[0].root().get("C").unwrap().first().unwrap().text(), text);
    }

    #[test]
    fn another_parser_agrees(tree in tree()) {
        prop_assume!(tree.nodes().all(|node| node.get("GM").is_none()));
        let text = tree.to_string();
        let theirs = sgf_parse::parse(&text).unwrap();
        prop_assert_eq!(theirs.len(), 1);
        prop_assert_eq!(count(&theirs[0]), tree.node_count());
    }
}

/// Number of nodes in a tree of the other parser.
fn count(tree: &sgf_parse::GameTree) -> usize {
    let mut nodes = 0;
    let root = match tree {
        sgf_parse::GameTree::GoGame(node) => node,
        sgf_parse::GameTree::Unknown(_) => panic!("a tree without GM must be a game of Go"),
    };
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        nodes += 1;
        open.extend(node.children());
    }
    nodes
}
