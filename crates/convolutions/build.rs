//! Builds the convolutions, and tells packages that depend on this one where the headers are that they share.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-changed=shim");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    println!("cargo:include={folder}/shim");
    let Some(libtorch) = libtorch() else { return };
    println!("cargo:rustc-link-arg=-Wl,-rpath,{libtorch}/lib");
    // Lints link nothing.
    if std::env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.contains("clippy")) {
        return;
    }
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .flag_if_supported("-Wno-psabi")
        .include(format!("{libtorch}/include"))
        .include(format!("{libtorch}/include/torch/csrc/api/include"))
        .file("shim/convolutions.cpp")
        .compile("tengen_convolutions");
}

/// The folder of libtorch, or `None` after an error that ends the build.
fn libtorch() -> Option<String> {
    let folder = std::env::var("LIBTORCH").unwrap_or_default();
    if Path::new(&folder).join("include/torch/csrc").is_dir() {
        return Some(folder);
    }
    println!(
        "cargo::error=no libtorch in LIBTORCH={folder:?}: run scripts/setup-libtorch.sh first, or set LIBTORCH to the \
         folder of a libtorch 2.11.0"
    );
    None
}
