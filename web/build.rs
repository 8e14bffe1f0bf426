//! Keeps what says which features of WebAssembly the module uses when it is stripped: the glue is made for these.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "wasm32") {
        println!("cargo::rustc-link-arg-cdylib=--keep-section=target_features");
    }
}
