//! Names the crate by its sources, so that nothing that another build has kept is taken for its own.

fn main() {
    girih_fingerprint::of_sources();
}
