//! Builds the shim for fused layers and lets this package's tests find libtorch where the build found it.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-changed=shim");
    let Some(libtorch) = libtorch() else { return };
    println!("cargo:rustc-link-arg=-Wl,-rpath,{libtorch}/lib");
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let graphs = Path::new(&folder).join("graph.so");
    std::fs::write(&graphs, []).expect("the output folder can be written");
    // Lints link nothing.
    if std::env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.contains("clippy")) {
        return;
    }
    let shared =
        std::env::var("DEP_TENGEN_CONVOLUTIONS_INCLUDE").expect("tengen-convolutions says where its headers are");
    println!("cargo:rerun-if-changed={shared}");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .flag_if_supported("-Wno-psabi")
        .include("shim/gloo")
        .include(shared)
        .include(format!("{libtorch}/include"))
        .include(format!("{libtorch}/include/torch/csrc/api/include"))
        .file("shim/all.cpp")
        .compile("tengen_fused");
    build_graphs(&libtorch, &graphs);
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

/// Builds `graph.so`, which this package carries. Without CUDA's headers it stays empty, and nothing is recorded.
fn build_graphs(libtorch: &str, library: &Path) {
    let cuda = Path::new(libtorch).join("../nvidia/cu13/include");
    if !cuda.join("crt/host_defines.h").exists() {
        println!(
            "cargo:warning=no CUDA headers in {}: GPUs launch every kernel separately",
            cuda.display()
        );
        return;
    }
    let include = |folder: &Path| format!("-I{}", folder.display());
    let mut compiler = cc::Build::new().cpp(true).std("c++17").get_compiler().to_command();
    compiler
        .args([
            "-O1",
            "-fPIC",
            "-shared",
            "-fvisibility=hidden",
            "-w",
            "shim/graph.cpp",
            "-o",
        ])
        .arg(library)
        .args([include(&Path::new(libtorch).join("include")), include(&cuda)]);
    let built = compiler.status().is_ok_and(|status| status.success());
    assert!(built, "cannot build shim/graph.cpp: {compiler:?}");
}
