//! Why does a text name no player?

use tengen_gtp::CommandLineError;

/// Why a text names no player.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// The kind is unknown.
    #[error("'{text}' names no player{}; expected model:PATH, store:DIR, store:DIR@g000012, gtp:COMMAND, random, uniform, or an existing path", did_you_mean(.nearest))]
    UnknownKind {
        /// The text given.
        text: String,
        /// The nearest known form.
        nearest: Option<&'static str>,
    },
    /// What follows the colon is missing.
    #[error("'{0}' lacks what must follow the colon")]
    Empty(&'static str),
    /// An option is unknown, or is none of this kind of player.
    #[error("'{key}' is no option of {kind} players{}", did_you_mean(.nearest))]
    UnknownOption {
        /// The option given.
        key: String,
        /// The kind of player.
        kind: &'static str,
        /// The nearest known option.
        nearest: Option<&'static str>,
    },
    /// The value of an option is wrong.
    #[error("'{value}' is no value for the option {key}: expected {expected}")]
    BadValue {
        /// The option.
        key: String,
        /// The value given.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A generation must look like `g000012`.
    #[error("'{0}' is no generation: expected a form such as g000012")]
    BadGeneration(String),
    /// The engine's command line cannot be split.
    #[error(transparent)]
    Command(#[from] CommandLineError),
    /// Something other than options follows the quoted command line.
    #[error("'{0}' follows the quoted command line: expected nothing or ,key=value")]
    AfterQuote(String),
    /// Options follow a command line that is not quoted.
    #[error(
        "'{0}' looks like options of the player, but belongs to the command line as it stands: quote the command line, gtp:\"…\"{0}"
    )]
    UnquotedOptions(String),
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or(String::new(), |nearest| format!(" (did you mean '{nearest}'?)"))
}

pub(super) fn nearest(text: &str, known: &[&'static str]) -> Option<&'static str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&text.to_ascii_lowercase(), known);
    known
        .iter()
        .copied()
        .min_by_key(|known| distance(known))
        .filter(|known| distance(known) <= 3)
}
