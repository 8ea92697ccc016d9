//! Locations of stores: a local folder or an object store's URL.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::{Error as ObjectError, ObjectStore};

use crate::store_error::{StoreError, read_error};

/// Whether opening a store may create it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Create {
    /// Create the folder if it does not exist.
    Always,
    /// Fail if there is no store.
    Never,
}

pub(crate) struct Place {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The location as shown to the user.
    pub(crate) location: String,
    /// The folder, if the location is local.
    pub(crate) folder: Option<PathBuf>,
}

/// A folder that existed earlier has disappeared.
#[derive(Debug, thiserror::Error)]
#[error("the store at {folder} is unavailable: its {file} is missing (is a disk or network drive disconnected?)")]
struct Unavailable {
    folder: String,
    file: &'static str,
}

impl Place {
    /// Opens a location; also returns whether this call created its folder.
    pub(crate) fn find(location: &str, create: Create) -> Result<(Place, bool), StoreError> {
        let Some(folder) = local_folder(location)? else {
            return connect(location).map(|place| (place, false));
        };
        let is_new = prepare_folder(&folder, location, create)?;
        let folder = folder.canonicalize().map_err(|error| read_error(location, &error))?;
        let objects = LocalFileSystem::new_with_prefix(&folder)
            .map_err(|error| read_error(location, &error))?
            .with_fsync(true)
            .with_automatic_cleanup(true);
        let mut place = Place::of_objects(Arc::new(objects), &folder.display().to_string());
        place.folder = Some(folder);
        Ok((place, is_new))
    }

    /// A location that is not a local folder.
    pub(crate) fn of_objects(objects: Arc<dyn ObjectStore>, location: &str) -> Place {
        Place {
            objects,
            location: location.to_owned(),
            folder: None,
        }
    }

    /// Fails if this is a folder that no longer holds `file`.
    pub(crate) fn check_presence(&self, file: &'static str) -> Result<(), ObjectError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if folder.join(file).exists() {
            return Ok(());
        }
        Err(ObjectError::Generic {
            store: "folder",
            source: Box::new(Unavailable {
                folder: self.location.clone(),
                file,
            }),
        })
    }
}

/// The local folder of a location; `None` for object store URLs.
fn local_folder(location: &str) -> Result<Option<PathBuf>, StoreError> {
    match location.split_once("://") {
        None => Ok(Some(PathBuf::from(location))),
        Some(("file", path)) if path.starts_with('/') => Ok(Some(PathBuf::from(path))),
        Some(("s3" | "s3a" | "gs" | "az" | "abfs" | "abfss" | "azure", _)) => Ok(None),
        Some(_) => Err(StoreError::UnsupportedLocation {
            location: location.to_owned(),
        }),
    }
}

/// Ensures that the folder exists; returns whether this call created it.
fn prepare_folder(folder: &Path, location: &str, create: Create) -> Result<bool, StoreError> {
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(false),
        Ok(_) => Err(StoreError::NotAStore {
            location: location.to_owned(),
            found: "a file".to_owned(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && create == Create::Always => {
            std::fs::create_dir_all(folder).map_err(|error| StoreError::CannotCreate {
                location: location.to_owned(),
                reason: error.to_string(),
            })?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(StoreError::Missing {
            location: location.to_owned(),
        }),
        Err(error) => Err(read_error(location, &error)),
    }
}

#[cfg(not(feature = "cloud"))]
fn connect(location: &str) -> Result<Place, StoreError> {
    Err(StoreError::NoCloud {
        location: location.to_owned(),
    })
}

/// Connects to S3, Google Cloud Storage or Azure with the credentials from the environment. Every request is bounded:
/// it is retried a few times within half a minute, and each attempt takes at most a minute.
#[cfg(feature = "cloud")]
fn connect(location: &str) -> Result<Place, StoreError> {
    use object_store::prefix::PrefixStore;
    use object_store::{ObjectStoreScheme, parse_url_opts};

    let wrong = |error: &(dyn std::error::Error + 'static)| read_error(location, error);
    let url = url::Url::parse(location).map_err(|error| wrong(&error))?;
    let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(|error| wrong(&error))?;
    let objects: Arc<dyn ObjectStore> = match scheme {
        ObjectStoreScheme::AmazonS3 => cloud::s3(&url).map_err(|error| wrong(&error))?,
        ObjectStoreScheme::GoogleCloudStorage => cloud::google(&url).map_err(|error| wrong(&error))?,
        ObjectStoreScheme::MicrosoftAzure => cloud::azure(&url).map_err(|error| wrong(&error))?,
        _ => parse_url_opts(&url, std::env::vars())
            .map_err(|error| wrong(&error))?
            .0
            .into(),
    };
    let location = location.trim_end_matches('/');
    Ok(Place::of_objects(Arc::new(PrefixStore::new(objects, path)), location))
}

#[cfg(feature = "cloud")]
mod cloud {
    use std::sync::Arc;
    use std::time::Duration;

    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
    use object_store::{ClientConfigKey, ObjectStore, Result, RetryConfig};
    use url::Url;

    /// Timeouts for a request and for opening a connection.
    const TIMES: [(ClientConfigKey, &str); 2] = [
        (ClientConfigKey::Timeout, "60s"),
        (ClientConfigKey::ConnectTimeout, "5s"),
    ];

    fn retries() -> RetryConfig {
        RetryConfig {
            max_retries: 5,
            retry_timeout: Duration::from_secs(30),
            ..RetryConfig::default()
        }
    }

    pub(super) fn s3(url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retries());
        let timed = TIMES.into_iter().fold(builder, |builder, (key, time)| {
            builder.with_config(AmazonS3ConfigKey::Client(key), time)
        });
        Ok(Arc::new(timed.build()?))
    }

    pub(super) fn google(url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let builder = GoogleCloudStorageBuilder::from_env()
            .with_url(url.as_str())
            .with_retry(retries());
        let timed = TIMES.into_iter().fold(builder, |builder, (key, time)| {
            builder.with_config(GoogleConfigKey::Client(key), time)
        });
        Ok(Arc::new(timed.build()?))
    }

    pub(super) fn azure(url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let builder = MicrosoftAzureBuilder::from_env()
            .with_url(url.as_str())
            .with_retry(retries());
        let timed = TIMES.into_iter().fold(builder, |builder, (key, time)| {
            builder.with_config(AzureConfigKey::Client(key), time)
        });
        Ok(Arc::new(timed.build()?))
    }
}
