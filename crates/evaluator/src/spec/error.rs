//! Errors in descriptions of players.

use tengen_gtp::CommandLineError;

/// Why a text does not describe a player.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// The kind of player is unknown.
    #[error(
        "'{text}' does not describe a player{}; expected model:PATH, store:DIR, store:DIR@g000012, gtp:COMMAND, \
         mcts, random, uniform, or an existing path",
        did_you_mean(.nearest)
    )]
    UnknownKind {
        /// The text as given, cut to 80 characters.
        text: String,
        /// A player that the text may mean: an engine of this name, or the most similar known form.
        nearest: Option<String>,
    },
    /// Nothing follows the colon.
    #[error("'{0}' must be followed by a path or an address")]
    Empty(&'static str),
    /// The option is unknown, or this kind of player does not have it.
    #[error("'{key}' is not an option of {kind} players{}", did_you_mean(.nearest))]
    UnknownOption {
        /// The option's key as given.
        key: String,
        /// The kind of player.
        kind: &'static str,
        /// The most similar option of this kind of player, if any is similar.
        nearest: Option<&'static str>,
    },
    /// An option has an invalid value.
    #[error("'{value}' is not valid for option {key}: expected {expected}")]
    BadValue {
        /// The key of the option, before the `=`.
        key: String,
        /// The rejected value, as the user wrote it.
        value: String,
        /// The kind of value that is valid, such as "a whole number from 1".
        expected: &'static str,
    },
    /// The text after `@` is not a generation such as `g000012`.
    #[error("'{0}' is not a generation: expected a number such as 12 or g000012")]
    BadGeneration(String),
    /// The engine's command line cannot be split.
    #[error(transparent)]
    Command(#[from] CommandLineError),
    /// Something other than options follows the quoted command line.
    #[error("'{0}' follows the quoted command line: expected nothing or ,key=value")]
    AfterQuote(String),
    /// Options follow an unquoted command line.
    #[error(
        "'{0}' looks like player options but is part of the command line; to set options, quote the command line: \
         gtp:\"…\"{0}"
    )]
    UnquotedOptions(String),
}

fn did_you_mean<T: std::fmt::Display>(nearest: &Option<T>) -> String {
    nearest
        .as_ref()
        .map_or(String::new(), |nearest| format!(" (did you mean '{nearest}'?)"))
}

/// The player for a well-known engine whose name was given without `gtp:`.
pub(super) fn engine(text: &str) -> Option<String> {
    let (program, arguments) = text.split_once(' ').unwrap_or((text, ""));
    let usual = match program {
        "gnugo" => "--mode gtp",
        "katago" => "gtp",
        "leelaz" => "--gtp",
        "pachi" | "fuego" => "",
        _ => return None,
    };
    let arguments = if arguments.is_empty() { usual } else { arguments };
    Some(format!("gtp:{program} {arguments}").trim_end().to_owned())
}

pub(super) fn nearest(text: &str, known: &[&'static str]) -> Option<&'static str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&text.to_ascii_lowercase(), known);
    known
        .iter()
        .copied()
        .min_by_key(|known| distance(known))
        .filter(|known| distance(known) <= 3)
}
