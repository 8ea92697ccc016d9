//! Queries that ask for something to be done, not for an analysis.

use serde_json::{Map, Value, json};

use super::desk::Identity;
use super::fields::{Complaint, Fields};

/// What is to be done.
pub(super) enum Action {
    /// To answer and no more.
    Answer,
    /// To forget evaluations.
    ClearCache,
    /// To end the analyses of a query (of all where no id is given), or of some of its turns.
    Terminate {
        /// The query's id.
        id: Option<String>,
        /// The turns; all where none are given.
        turns: Option<Vec<i64>>,
    },
}

/// Reads an action; the object becomes its answer: all it held, and what was asked for.
pub(super) fn read(object: &mut Map<String, Value>, identity: &Identity) -> Result<Action, Complaint> {
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
            fields.required("terminateId", "the id of a query")?;
            Ok(Action::Terminate {
                id: fields.text("terminateId")?.map(str::to_owned),
                turns: turns()?,
            })
        }
        "terminate_all" => Ok(Action::Terminate {
            id: None,
            turns: turns()?,
        }),
        _ => Err(Complaint::about(
            "action",
            format!(
                "unknown action '{name}': there are query_version, query_models, clear_cache, terminate and terminate_all"
            ),
        )),
    }
}
