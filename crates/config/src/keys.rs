//! The keys that a configuration can have: their defaults, their choices, and suggestions for misspelled keys.
//!
//! The list is derived from the configuration's types, so new keys appear here automatically.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::{Table, Value};

use crate::RunConfig;

/// The smallest configuration that loads; every other key has a default.
pub const REQUIRED: &str = r#"
name = "5x5"
rules = "tromp_taylor"
network = { blocks = 4, channels = 32 }
"#;

/// Examples for keys that have no default, or whose default does not show what other values look like.
const EXAMPLES: [(&str, &str); 7] = [
    ("selfplay.boards", r#"[{ size = "9x9", share = 1.0 }]"#),
    ("selfplay.komi.fixed_fair", "24.5"),
    ("selfplay.komi.least_chance", "0.2"),
    ("selfplay.later_noise", "[[200000, 0.0]]"),
    ("loop.later_visits", "[[100000, 16], [1000000, 32]]"),
    ("loop.grow", r#"[[1000000, "b5c64"]]"#),
    ("train.from", r#"[{ store = "DIR" }]"#),
];

/// A key or a choice that no type has. The parser's error about it lists the valid ones.
const UNKNOWN: &str = "?";

/// The most keys suggested at once.
const SUGGESTIONS: usize = 3;

/// Every key with its default, except optional keys.
static DEFAULTS: LazyLock<Table> = LazyLock::new(|| {
    let config: RunConfig = toml::from_str(REQUIRED).expect("the required keys are enough");
    let text = toml::to_string(&config).expect("a configuration is TOML");
    toml::from_str(&text).expect("the serialized text is TOML")
});

/// The defaults without the required keys.
static OPTIONAL: LazyLock<Table> = LazyLock::new(|| {
    let required: Table = toml::from_str(REQUIRED).expect("TOML");
    let mut table = DEFAULTS.clone();
    take_out(&mut table, &required);
    table
});

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    collect("", &mut keys);
    keys
});

/// A key or a section of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key with its sections, such as `budget.minutes`.
    pub path: String,
    /// Whether the key is a section, which contains other keys.
    pub is_section: bool,
}

/// Every section and key, in the order in which they are written.
pub fn all() -> &'static [Key] {
    &KEYS
}

/// Whether a key or section with this path exists.
pub fn is_known(path: &str) -> bool {
    all().iter().any(|key| key.path == path)
}

/// Every key that has a value rather than other keys, in the order in which they are written.
pub fn leaves() -> impl Iterator<Item = &'static str> {
    let leaves = all().iter().filter(|key| !key.is_section);
    leaves.map(|key| key.path.as_str())
}

/// The value at a key such as `gate.sprt.alpha` or `selfplay.boards[0].size`.
pub fn look_up<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let mut parts = parts(path);
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        Value::Table(inner) => inner.get(part),
        _ => None,
    })
}

/// The keys in which two tables differ, with both values.
pub fn differences<'a>(
    a: &'a Table,
    b: &'a Table,
) -> impl Iterator<Item = (&'static str, Option<&'a Value>, Option<&'a Value>)> {
    let both = leaves().map(|key| (key, look_up(a, key), look_up(b, key)));
    both.filter(|(_, a, b)| a != b)
}

/// The table with defaults for all keys that it leaves out, including those in sections that it states in part. Keys
/// without a default stay absent.
pub fn with_defaults(table: &Table) -> Table {
    let mut filled = OPTIONAL.clone();
    overlay(&mut filled, table);
    filled
}

fn overlay(onto: &mut Table, table: &Table) {
    for (key, value) in table {
        match (onto.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            _ => drop(onto.insert(key.clone(), value.clone())),
        }
    }
}

/// The parts of a path: names of keys, and indices into lists.
pub fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[']).map(|part| part.trim_end_matches(']'))
}

/// The key's default; `None` for an optional key.
pub fn default_of(path: &str) -> Option<&'static Value> {
    look_up(&DEFAULTS, path)
}

/// A valid value of the key, as TOML. For an item of a list, this is usually a value of the whole list.
pub fn example(path: &str) -> Option<String> {
    let whole = path.split('[').next().unwrap_or(path);
    let listed = |path| EXAMPLES.iter().find(|(key, _)| *key == path);
    match (listed(path), default_of(path)) {
        (Some((_, example)), _) => Some((*example).to_owned()),
        (None, Some(default)) => Some(default.to_string()),
        (None, None) => listed(whole).map(|(_, example)| (*example).to_owned()),
    }
}

/// The names of a section's keys. For an empty path, the top-level sections and keys.
pub fn children(section: &str) -> Vec<String> {
    let key = join(section, UNKNOWN);
    names_after(&format!("unknown field `{UNKNOWN}`"), &refusal(&key, 0.into()))
}

/// The words that a key accepts; empty if it takes other values.
pub fn choices(path: &str) -> Vec<String> {
    names_after(&format!("unknown variant `{UNKNOWN}`"), &refusal(path, UNKNOWN.into()))
}

/// The path of a key in a section; an empty section is the top level.
pub fn join(section: &str, name: &str) -> String {
    match section {
        "" => name.to_owned(),
        _ => format!("{section}.{name}"),
    }
}

/// The values of all keys of a table as TOML text, by paths such as `selfplay.search.visits`. A list is one value.
pub fn values(table: &Table) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for (name, value) in table {
        match value {
            Value::Table(section) => {
                let inner = self::values(section).into_iter();
                values.extend(inner.map(|(key, value)| (join(name, &key), value)));
            }
            value => {
                values.insert(name.clone(), value.to_string());
            }
        }
    }
    values
}

/// Sets a key, creating missing sections above it. A plain value in place of such a section is replaced.
pub fn put(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(table.insert(path.to_owned(), value)),
        Some((section, rest)) => {
            let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if !inner.is_table() {
                *inner = Value::Table(Table::new());
            }
            put(inner.as_table_mut().expect("it is a table by now"), rest, value);
        }
    }
}

/// Removes a key if it is there.
pub fn remove(table: &mut Table, path: &str) {
    match path.split_once('.') {
        None => drop(table.remove(path)),
        Some((section, rest)) => {
            if let Some(Value::Table(inner)) = table.get_mut(section) {
                remove(inner, rest);
            }
        }
    }
}

/// The keys that an unknown key may mean: the same name in another section, a name with these initials or this word, or
/// one with a similar spelling.
pub fn suggest(unknown: &str) -> Vec<String> {
    let rank = |key: &'static Key| Some((likeness(unknown, &key.path)?, key));
    let mut ranked: Vec<(usize, &Key)> = all().iter().filter_map(rank).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let best = ranked.first().map(|(rank, _)| *rank);
    let equal = ranked.iter().take_while(|(rank, _)| Some(*rank) == best);
    equal
        .flat_map(|(_, key)| match key.is_section {
            true => children(&key.path).iter().map(|name| join(&key.path, name)).collect(),
            false => vec![key.path.clone()],
        })
        .take(SUGGESTIONS)
        .collect()
}

/// The distance of a known key from the unknown one; `None` if they have nothing in common. Names count more than
/// sections.
fn likeness(unknown: &str, known: &str) -> Option<usize> {
    let (unknown_section, unknown_name) = unknown.rsplit_once('.').unwrap_or(("", unknown));
    let (section, name) = known.rsplit_once('.').unwrap_or(("", known));
    let section = match unknown_section {
        _ if unknown_section == section => 0,
        "" => 1,
        _ if strsim::damerau_levenshtein(unknown_section, section) <= 2 => 1,
        _ => 2,
    };
    let initials: String = name.split('_').filter_map(|word| word.chars().next()).collect();
    let typos = strsim::damerau_levenshtein(unknown_name, name);
    let name = match () {
        () if unknown_name == name => 0,
        () if unknown_name.len() > 1 && unknown_name == initials => 1,
        () if unknown_name.len() > 2
            && unknown_name
                .split('_')
                .all(|word| name.split('_').any(|own| own == word)) =>
        {
            2
        }
        () if typos <= unknown_name.len() / 3 => 2 + typos,
        () => return None,
    };
    Some(3 * name + section)
}

/// Removes from the table every key that the other table has.
fn take_out(table: &mut Table, other: &Table) {
    for (key, value) in other {
        match (table.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(other)) => take_out(inner, other),
            _ => drop(table.remove(key)),
        }
    }
}

fn collect(section: &str, into: &mut Vec<Key>) {
    for name in children(section) {
        let path = join(section, &name);
        let is_section = default_of(&path).is_some_and(Value::is_table);
        into.push(Key {
            path: path.clone(),
            is_section,
        });
        if is_section {
            collect(&path, into);
        }
    }
}

/// The parser's error if the key has this value; empty if it accepts the value.
fn refusal(path: &str, value: Value) -> String {
    let mut table = DEFAULTS.clone();
    put(&mut table, path, value);
    let taken = Value::Table(table).try_into::<RunConfig>();
    taken.map_or_else(|error| error.message().to_owned(), |_| String::new())
}

/// The names in backticks that follow the prefix of a message; empty if the message starts differently.
fn names_after(prefix: &str, message: &str) -> Vec<String> {
    let rest = message.strip_prefix(prefix).unwrap_or_default();
    rest.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_and_key_is_found() {
        for (path, is_section) in [
            ("name", false),
            ("network.pass_alive_inputs", false),
            ("selfplay.komi", true),
            ("selfplay.komi.fixed_fair", false),
            ("loop.symmetry", false),
            ("gate.sprt.alpha", false),
            ("budget", true),
        ] {
            let key = all().iter().find(|key| key.path == path).expect(path);
            assert_eq!(key.is_section, is_section, "{path}");
        }
        assert!(leaves().all(|path| default_of(path).is_none_or(|default| !default.is_table())));
        assert_eq!(choices("training.optimizer"), ["adamw", "sgd", "muon"]);
        assert!(choices("budget.minutes").is_empty());
    }

    #[test]
    fn misspelled_and_misplaced_keys_are_recognized() {
        for (unknown, meant) in [
            ("minutes", &["budget.minutes"][..]),
            ("budget.minuts", &["budget.minutes"]),
            ("budjet.minutes", &["budget.minutes"]),
            ("training.minutes", &["budget.minutes"]),
            ("training.lr", &["training.learning_rate"]),
            ("lr", &["training.learning_rate"]),
            ("training.rate", &["training.learning_rate"]),
            ("games", &["gate.games", "budget.games"]),
            ("loop.candidate_steps", &["loop.candidate_every_steps"]),
            ("gate.game", &["gate.games"]),
            (
                "trainig",
                &["training.batch", "training.optimizer", "training.learning_rate"],
            ),
            (
                "komi",
                &[
                    "selfplay.komi.uniform_share",
                    "selfplay.komi.spread",
                    "selfplay.komi.fixed_fair",
                ],
            ),
            ("temperature", &[]),
        ] {
            assert_eq!(suggest(unknown), meant, "{unknown}");
        }
    }
}
