//! Builds the shim for fused layers and lets this package's tests find libtorch where the build found it.

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-changed=shim");
    let Ok(libtorch) = std::env::var("LIBTORCH") else {
        println!("cargo:warning=LIBTORCH is not set: run scripts/setup-libtorch.sh, or set it to a libtorch 2.11.0");
        return;
    };
    println!("cargo:rustc-link-arg=-Wl,-rpath,{libtorch}/lib");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .flag_if_supported("-Wno-psabi")
        .include(format!("{libtorch}/include"))
        .files([
            "shim/fused.cpp",
            "shim/heads.cpp",
            "shim/linear.cpp",
            "shim/norm.cpp",
            "shim/pool.cpp",
            "shim/stream.cpp",
        ])
        .compile("tengen_fused");
}
