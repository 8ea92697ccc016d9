//! What all pages have in common: head, navigation, and the page for a problem.

use axum::http::StatusCode;
use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

use crate::runs::{Run, Runs};

/// A page's place in the navigation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// The list of runs.
    Home,
    /// The runs side by side.
    Compare,
    /// The report of a run.
    Report(&'a Run),
    /// The games of a run.
    Games(&'a Run),
    /// The board to play on.
    Board(&'a Run),
}

impl<'a> Place<'a> {
    fn run(self) -> Option<&'a Run> {
        match self {
            Place::Home | Place::Compare => None,
            Place::Report(run) | Place::Games(run) | Place::Board(run) => Some(run),
        }
    }
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        self.slug == other.slug
    }
}

impl Eq for Run {}

/// A page with this title, these scripts, and this content.
pub(crate) fn page(runs: &Runs, place: Place<'_>, title: &str, scripts: &[&str], content: Markup) -> Html<String> {
    let whole = html! {
        (head(title, scripts))
        body {
            a.skip href="#content" { "Skip to the content" }
            (navigation(runs, place))
            main #content { (content) }
        }
    };
    Html(whole.into_string())
}

/// A page that only says what went wrong.
pub(crate) fn problem(status: StatusCode, sentence: &str) -> Markup {
    html! {
        (head(status.canonical_reason().unwrap_or("Problem"), &[]))
        body { main #content {
            h1 { (status.canonical_reason().unwrap_or("Problem")) }
            p.warning { (capitalized(sentence)) "." }
            p { a href="/" { "All runs" } }
        } }
    }
}

fn head(title: &str, scripts: &[&str]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Tengen: " (title) }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/report.css";
                link rel="stylesheet" href="/assets/serve.css";
                @for script in scripts { script type="module" src=(format!("/assets/{script}")) {} }
            }
        }
    }
}

fn navigation(runs: &Runs, place: Place<'_>) -> Markup {
    let several = runs.all().len() > 1;
    let current = |is: bool| is.then_some("page");
    html! {
        header.bar { nav aria-label="Pages" {
            a.brand href="/" aria-current=[current(place == Place::Home)] { "Tengen" }
            @if several { a href="/compare" aria-current=[current(place == Place::Compare)] { "Compare" } }
            @if let Some(run) = place.run() {
                @if several { span.run { (run.slug) } }
                @let base = format!("/runs/{}", run.slug);
                a href=(base) aria-current=[current(place == Place::Report(run))] { "Report" }
                a href=(format!("{base}/games")) aria-current=[current(place == Place::Games(run))] { "Games" }
                a href=(format!("{base}/board")) aria-current=[current(place == Place::Board(run))] { "Play" }
            }
        } }
    }
}

/// A sentence with a capital first letter.
fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
