//! Lets the binary find libtorch with no exported variables, and tells it the commit and the libtorch version that it
//! was built from.
//!
//! It finds libtorch where the build found it. With `TENGEN_RELEASE` set, it finds it beside itself instead, wherever
//! it is moved: first behind the link `torch`, which `tengen setup` makes, then in `libtorch/`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-env-changed=TENGEN_RELEASE");
    for folder in library_folders() {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    println!("cargo:rustc-env=TENGEN_VERSION={}", version());
    println!("cargo:rustc-env=TENGEN_TORCH={}", torch().unwrap_or_default());
}

/// Where the binary looks for libtorch.
fn library_folders() -> Vec<String> {
    if std::env::var_os("TENGEN_RELEASE").is_some() {
        return ["$ORIGIN/torch/lib", "$ORIGIN/libtorch/torch/lib"]
            .map(str::to_owned)
            .to_vec();
    }
    let libtorch = std::env::var("LIBTORCH").ok();
    libtorch.map(|libtorch| format!("{libtorch}/lib")).into_iter().collect()
}

/// The version with what is known about the build, such as `0.1.0 (commit 0123abcd, libtorch 2.11.0,
/// features torch cloud)`.
fn version() -> String {
    let package = std::env::var("CARGO_PKG_VERSION").expect("cargo sets the version");
    let known: Vec<String> = [
        commit().map(|commit| format!("commit {commit}")),
        torch().map(|torch| format!("libtorch {torch}")),
        features(),
    ]
    .into_iter()
    .flatten()
    .collect();
    match known.is_empty() {
        true => package,
        false => format!("{package} ({})", known.join(", ")),
    }
}

/// The commit of the working tree; `None` without git, or if the sources are merely inside another repository.
fn commit() -> Option<String> {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets the folder");
    let root = Path::new(&manifest).join("../..").canonicalize().ok()?;
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?)
        .canonicalize()
        .ok()?
        != root
    {
        return None;
    }
    // The log of HEAD changes with every commit and checkout.
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&["rev-parse", "--git-path", file])?);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

/// The features of the build; `None` without any.
fn features() -> Option<String> {
    let on = |&name: &&str| std::env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    let names: Vec<&str> = ["torch", "cloud"].iter().filter(|name| on(name)).copied().collect();
    (!names.is_empty()).then(|| format!("features {}", names.join(" ")))
}

/// The version of libtorch; `None` for builds without it.
fn torch() -> Option<String> {
    std::env::var_os("CARGO_FEATURE_TORCH")?;
    let libtorch = std::env::var("LIBTORCH").ok()?;
    let text = std::fs::read_to_string(Path::new(&libtorch).join("build-version")).ok()?;
    Some(text.trim().to_owned())
}
