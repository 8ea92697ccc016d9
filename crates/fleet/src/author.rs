//! Names that no two processes share.

use anyhow::Context;
use tengen_report::notices::Author;

/// Maximum number of bytes of a name that come from the host name.
const LONGEST_HOST: usize = 40;

/// The name of this process, and the random number in it.
///
/// # Errors
/// If the system has no random numbers.
pub(crate) fn own() -> anyhow::Result<(Author, u64)> {
    let random = getrandom::u64().context("the system has no random numbers")?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let pid = std::process::id();
    let author = Author {
        name: format!("{}-{pid}-{random:016x}", plain(&host)),
        host,
        pid,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok((author, random))
}

/// The start of a host name, with only characters that are safe in file names.
fn plain(host: &str) -> String {
    let plain: String = host
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(LONGEST_HOST)
        .collect();
    if plain.is_empty() { "host".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_can_be_part_of_a_path() {
        let (first, random) = own().expect("a name");
        let (second, _) = own().expect("a name");
        assert_ne!(first.name, second.name);
        assert!(first.name.ends_with(&format!("{random:016x}")));
        tengen_store::check_name("worker", &first.name).expect("a plain name");
        assert_eq!(plain("gpu-7.cluster.example"), "gpu_7_cluster_example");
        assert_eq!(plain(""), "host");
        assert_eq!(plain(&"x".repeat(100)).len(), LONGEST_HOST);
    }
}
