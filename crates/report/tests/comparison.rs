//! The page that compares the arms of a sweep.

use std::collections::HashSet;

use tengen_report::{Align, Comparison, Curve, Effect, Table};

#[test]
fn a_comparison_holds_curves_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.html");
    let mut table = Table::new("arm", Align::Left).column("Elo", Align::Right);
    table.row(vec!["<b>".to_owned(), "+5".to_owned()]);
    let curve = |name: &str, low, high| Curve {
        name: name.to_owned(),
        points: vec![[10.0, 1e5, 100.0, low, high], [20.0, 2e5, 200.0, low, high]],
    };
    let effect = |name: &str, low, high| Effect {
        name: name.to_owned(),
        elo: 9.0,
        low,
        high,
    };
    let page = Comparison {
        title: "visits".to_owned(),
        about: "two arms".to_owned(),
        curves: vec![curve("eight", 50.0, 250.0), curve("four", f64::NAN, f64::NAN)],
        effects: vec![
            effect("tree reuse", -3.0, 21.0),
            effect("no interval", f64::NEG_INFINITY, f64::INFINITY),
        ],
        tables: vec![("Arms".to_owned(), table)],
    };
    page.write(&path).unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    for part in [
        "<svg",
        "eight",
        "four",
        "&lt;b&gt;",
        "two arms",
        "eight: 200 (50 to 250) at 200k network evaluations",
        "What each factor is worth",
        "1: tree reuse: 9 (-3 to 21)",
        "2: no interval: 9 at",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn ten_curves_have_ten_colors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.html");
    let curve = |number| Curve {
        name: format!("arm {number}"),
        points: vec![[10.0, 1e5, 100.0, 0.0, 0.0], [20.0, 2e5, 200.0, 0.0, 0.0]],
    };
    let page = Comparison {
        title: "many".to_owned(),
        about: String::new(),
        curves: (0..11).map(curve).collect(),
        effects: Vec::new(),
        tables: Vec::new(),
    };
    page.write(&path).unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    let keys = html.split("points=\"0,9 88,9\" stroke=\"").skip(1);
    let colors: Vec<&str> = keys.map(|rest| rest.split('"').next().unwrap()).collect();
    let distinct: HashSet<&str> = colors.iter().copied().collect();
    assert!(!html.contains("each factor"), "no factors");
    assert_eq!(distinct.len(), 10, "{colors:?}");
    assert_eq!(colors[10], colors[0]);
    let styled = |color: &&&str| html.contains(&format!("polyline[stroke=\"{color}\"]"));
    assert_eq!(distinct.iter().filter(styled).count(), 9, "all but blue have dashes");
}
