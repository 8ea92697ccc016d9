//! The runs to serve: their stores, and their names in addresses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tengen_report::{ComparedRun, compare_runs, live_report};
use tengen_store::{Create, Store, StoreError};

use crate::game_list::ShardCache;
use crate::live::{Live, Source};
use crate::problem::Problem;

/// The folders of a store that are checked for changes.
const WATCHED: [&str; 8] = [
    "metrics",
    "games",
    "models",
    "promotions",
    "matches",
    "summaries",
    "fleet",
    "quarantine",
];

/// Why the stores cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder cannot be read.
    #[error("cannot read the folder {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// No store was named.
    #[error("expected at least one store, found none")]
    Nothing,
}

/// One run, and what is kept in memory about it.
pub(crate) struct Run {
    /// Its unique name in addresses: letters, digits, `.`, `_`, and `-`.
    pub(crate) slug: String,
    pub(crate) store: Store,
    pub(crate) report: Live,
    pub(crate) shards: ShardCache,
}

/// All runs that are served.
pub struct Runs {
    runs: Vec<Run>,
    /// The runs side by side.
    pub(crate) comparison: Live,
}

impl Runs {
    /// Opens stores. A folder that is not a store stands for the stores in it or, as in the folder of a sweep, in its
    /// folder `runs`.
    ///
    /// # Errors
    /// [`OpenError`] for the first location that cannot be opened, or if there are no locations.
    pub fn open(locations: &[String]) -> Result<Runs, OpenError> {
        let mut taken = BTreeSet::new();
        let mut runs = Vec::new();
        for location in locations {
            for location in stores_at(location)? {
                let store = Store::open(&location, Create::Never)?;
                let slug = slug(&location, &mut taken);
                runs.push(Run {
                    report: Live::new(report_of(store.clone())),
                    shards: ShardCache::default(),
                    slug,
                    store,
                });
            }
        }
        let named = runs.iter().map(|run| (run.slug.clone(), run.store.clone())).collect();
        match runs.is_empty() {
            true => Err(OpenError::Nothing),
            false => Ok(Runs {
                runs,
                comparison: Live::new(comparison_of(named)),
            }),
        }
    }

    pub(crate) fn all(&self) -> &[Run] {
        &self.runs
    }

    pub(crate) fn find(&self, slug: &str) -> Result<&Run, Problem> {
        let found = self.runs.iter().find(|run| run.slug == slug);
        found.ok_or_else(|| {
            let names: Vec<_> = self.runs.iter().map(|run| run.slug.as_str()).collect();
            Problem::missing(format!("there is no run {slug:?} here; there is {}", names.join(", ")))
        })
    }

    /// The parts of pages that are rendered again when stores change.
    pub(crate) fn lives(&self) -> impl Iterator<Item = &Live> {
        self.runs.iter().map(|run| &run.report).chain([&self.comparison])
    }
}

fn report_of(store: Store) -> Source {
    let looked = store.clone();
    Source {
        look: Box::new(move || fingerprint(&looked)),
        render: Box::new(move || Ok(live_report(&store)?.html)),
    }
}

fn comparison_of(runs: Vec<(String, Store)>) -> Source {
    let looked: Vec<Store> = runs.iter().map(|(_, store)| store.clone()).collect();
    Source {
        look: Box::new(move || {
            looked
                .iter()
                .map(fingerprint)
                .collect::<anyhow::Result<Vec<_>>>()
                .map(|all| all.concat())
        }),
        render: Box::new(move || {
            let read = runs.iter().map(|(name, store)| ComparedRun::read(name, store));
            Ok(compare_runs(&read.collect::<anyhow::Result<Vec<_>>>()?))
        }),
    }
}

/// The numbers of files and bytes in each watched folder. Whatever a run records there changes some of them.
fn fingerprint(store: &Store) -> anyhow::Result<Vec<u64>> {
    let mut found = Vec::new();
    for folder in WATCHED {
        let files = store.files().list(folder)?;
        found.push(files.len() as u64);
        found.push(files.iter().map(|(_, bytes)| bytes).sum());
    }
    Ok(found)
}

/// The location itself if it is a store, or else the stores in that folder; the location if there are none.
fn stores_at(location: &str) -> Result<Vec<String>, OpenError> {
    let folder = Path::new(location);
    let is_store = |folder: &Path| folder.join("run.json").is_file();
    if !folder.is_dir() || is_store(folder) {
        return Ok(vec![location.to_owned()]);
    }
    for folder in [folder.to_owned(), folder.join("runs")] {
        if !folder.is_dir() {
            continue;
        }
        let broken = |source| OpenError::Folder {
            folder: folder.clone(),
            source,
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(broken)? {
            let path = entry.map_err(broken)?.path();
            if is_store(&path) {
                found.push(path.to_string_lossy().into_owned());
            }
        }
        if !found.is_empty() {
            found.sort();
            return Ok(found);
        }
    }
    Ok(vec![location.to_owned()])
}

/// A unique name for a run, made from the end of its location.
fn slug(location: &str, taken: &mut BTreeSet<String>) -> String {
    let full = Path::new(location).canonicalize().unwrap_or_else(|_| location.into());
    let last = full.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = last.chars().map(plain).collect();
    let name = match name.trim_start_matches('.') {
        "" => "run",
        name => name,
    };
    let numbered = |number: u32| format!("{name}-{number}");
    let free = std::iter::once(name.to_owned()).chain((2..).map(numbered));
    let found = free.into_iter().find(|name| !taken.contains(name));
    let slug = found.unwrap_or_else(|| name.to_owned());
    taken.insert(slug.clone());
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_distinct() {
        let mut taken = BTreeSet::new();
        let mut name = |location| slug(location, &mut taken);
        assert_eq!(name("/no/such/five"), "five");
        assert_eq!(name("/other/five"), "five-2");
        assert_eq!(name("s3://bucket/a run"), "a-run");
        assert_eq!(name("/no/<b>"), "-b-");
        assert_eq!(name("/"), "run");
    }
}
