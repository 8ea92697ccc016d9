//! Errors of requests: a sentence with an HTTP status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use tengen_store::StoreError;

/// A request that cannot be answered: its status and a sentence for the person who made it.
///
/// As a response, it has no body; the guard adds one, as a page or as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) sentence: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, sentence: impl Into<String>) -> Problem {
        Problem {
            status,
            sentence: sentence.into(),
        }
    }

    /// 400: the request itself makes no sense.
    pub(crate) fn bad(sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, sentence)
    }

    /// 404: what was asked for does not exist.
    pub(crate) fn missing(sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, sentence)
    }

    /// 409: the request does not fit the current state.
    pub(crate) fn conflict(sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, sentence)
    }

    /// 422: the request makes sense but is not allowed.
    pub(crate) fn refused(sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, sentence)
    }

    /// 503: the request cannot be answered now.
    pub(crate) fn unavailable(sentence: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        Problem::unavailable(format!("the store could not be read: {error}"))
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}"))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Runs a function that waits for files or computes for a long time, on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("this is a bug in Tengen: a request failed unexpectedly: {error}"),
        )),
    }
}

/// The JSON body of a request.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::bad(format!("the request cannot be read: {error}")))
}

/// A value as the JSON body of a response.
pub(crate) fn answer(value: &impl Serialize) -> Result<Json<Value>, Problem> {
    let value = serde_json::to_value(value);
    value.map(Json).map_err(|error| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the answer has no form: {error}"),
        )
    })
}
