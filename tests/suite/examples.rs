//! The examples, each of which says itself what has to come out.

#[path = "../../examples/call.rs"]
mod call;
#[path = "../../examples/data.rs"]
mod data;
#[path = "../../examples/frame.rs"]
mod frame;
#[path = "../../examples/kernel.rs"]
mod kernel;
#[path = "../../examples/triton.rs"]
mod triton;

#[test]
fn a_function_is_called() {
    call::main().expect("it runs");
}

#[test]
fn data_goes_there_and_back() {
    data::main().expect("it runs");
}

#[test]
fn a_frame_is_rendered() {
    frame::main().expect("it runs");
}

#[test]
fn a_kernel_runs_on_slices() {
    kernel::main().expect("it runs");
}

#[test]
fn a_triton_kernel_runs_on_arrays() {
    triton::main().expect("it runs");
}

#[test]
fn they_are_short_and_all_of_them_run() {
    let own = include_str!("examples.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(folder).expect("there are examples") {
        let path = entry.expect("it is a file").path();
        if path.is_dir() {
            // Programs in Bend, which the tests of the command run.
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is text");
        assert!(text.lines().count() < 40, "{} is long", path.display());
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("it has a name");
        assert!(own.contains(&format!("{name}::main()")), "{name} is not run");
    }
}
