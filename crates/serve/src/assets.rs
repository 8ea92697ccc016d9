//! The files that pages need, embedded in the program.

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;

/// Name, content type, and content of every file.
const FILES: [(&str, &str, &str); 10] = [
    ("report.css", CSS, tengen_report::STYLE),
    ("serve.css", CSS, include_str!("web/serve.css")),
    ("plots.js", SCRIPT, tengen_report::PLOTS_SCRIPT),
    ("live.js", SCRIPT, include_str!("web/live.js")),
    ("board.js", SCRIPT, include_str!("web/board.js")),
    ("replay.js", SCRIPT, include_str!("web/replay.js")),
    ("view.js", SCRIPT, include_str!("web/view.js")),
    ("play.js", SCRIPT, include_str!("web/play.js")),
    ("analysis.js", SCRIPT, include_str!("web/analysis.js")),
    ("icon.svg", "image/svg+xml", include_str!("web/icon.svg")),
];

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// `/assets/{name}`.
pub(crate) async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    let found = FILES.iter().find(|(file, _, _)| *file == name);
    let (_, kind, content) = found.ok_or_else(|| Problem::missing(format!("there is no file {name:?}")))?;
    // The files change with the program, so browsers must ask each time.
    let headers = [(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, *content).into_response())
}
