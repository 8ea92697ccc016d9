//! Builds the shim that records modules, and lets this package's tests find libtorch where the build found it.

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-changed=shim");
    let Ok(libtorch) = std::env::var("LIBTORCH") else {
        return;
    };
    println!("cargo:rustc-link-arg=-Wl,-rpath,{libtorch}/lib");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .warnings(false)
        .include(format!("{libtorch}/include"))
        .include(format!("{libtorch}/include/torch/csrc/api/include"))
        .file("shim/script.cpp")
        .compile("tengen_script");
}
