//! Builds the convolutions, and tells packages that depend on this one where the headers are that they share.

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-changed=shim");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    println!("cargo:include={folder}/shim");
    let Ok(libtorch) = std::env::var("LIBTORCH") else {
        println!("cargo:warning=LIBTORCH is not set: run scripts/setup-libtorch.sh, or set it to a libtorch 2.11.0");
        return;
    };
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
        .file("shim/winograd.cpp")
        .compile("tengen_winograd");
}
