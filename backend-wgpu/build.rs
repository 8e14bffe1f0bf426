//! Names the crate by its sources, so that nothing that another build has kept is taken for its own; and says whether threads of this build may wait for a device.

fn main() {
    girih_fingerprint::of_sources();
    println!("cargo::rustc-check-cfg=cfg(waits)");
    let is_web = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "wasm32");
    // A page must not wait. A worker may, where the browser suspends WebAssembly meanwhile.
    if !is_web || std::env::var_os("CARGO_FEATURE_SUSPEND").is_some() {
        println!("cargo::rustc-cfg=waits");
    }
}
