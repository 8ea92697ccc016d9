//! Queries that request an action instead of an analysis.

use serde_json::{Map, Value, json};

use super::fields::{Fields, Problem};
use super::settings::Identity;

/// An action requested by a query.
pub(super) enum Action {
    /// Only send the answer.
    Answer,
    /// Clear the cache of evaluations.
    ClearCache,
    /// Stop the analyses of a query (or of all queries if no ID is given), or of some of its turns.
    Terminate {
        /// The ID of the query.
        id: Option<String>,
        /// The turns to stop; all turns if `None`.
        turns: Option<Vec<i64>>,
    },
}

/// Parses an action and turns its object into the answer, which repeats all fields and adds the requested ones.
pub(super) fn read(object: &mut Map<String, Value>, identity: &Identity) -> Result<Action, Problem> {
    let fields = Fields(object);
    let turns = || fields.whole_list("turnNumbers", 0, i64::MAX);
    let name = fields.text("action")?.unwrap_or_default();
    match name {
        "query_version" => {
            object.insert("version".to_owned(), json!(identity.version));
            object.insert("git_hash".to_owned(), json!("<omitted>"));
            Ok(Action::Answer)
        }
        "query_models" => {
            let model = json!({
                "name": identity.model,
                "internalName": identity.model,
                "maxBatchSize": identity.batch,
                "usesHumanSLProfile": false,
            });
            object.insert("models".to_owned(), json!([model]));
            Ok(Action::Answer)
        }
        "clear_cache" => Ok(Action::ClearCache),
        "terminate" => {
            fields.required("terminateId", "the ID of a query")?;
            Ok(Action::Terminate {
                id: fields.text("terminateId")?.map(str::to_owned),
                turns: turns()?,
            })
        }
        "terminate_all" => Ok(Action::Terminate {
            id: None,
            turns: turns()?,
        }),
        _ => Err(Problem::about(
            "action",
            format!(
                "unknown action '{name}': expected query_version, query_models, clear_cache, terminate or terminate_all"
            ),
        )),
    }
}
