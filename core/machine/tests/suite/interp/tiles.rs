//! Programs in tile form: what they do, and which faults are found.

use super::{Code, Given, Number, Words, checked, fault, launch, module};
use girih_base::span::SourceId;
use girih_ir::text;

fn doubled(given: &[Given]) -> Result<Vec<Vec<u32>>, girih_base::diag::Diagnostic> {
    let source = "kernel @k(%x: buffer, %out: buffer, %n: u32) workgroup(128) {
        %first = mul (workgroup_id.x), 8
        %i = add (tile.splat.tile<8xu32> %first), (tile.iota.tile<8xu32>)
        %inside = lt %i, (tile.splat.tile<8xu32> %n)
        %v = tile.load.tile<8xu32> %x[%i], %inside, 0
        tile.store.tile<8xu32> %out[%i], (add %v, %v), %inside
      }";
    launch(source, checked(), [3, 1, 1], given)
}

#[test]
fn what_a_mask_leaves_out_is_not_touched() {
    let numbers: Vec<u32> = (0..20).collect();
    // The buffer behind the last element is there to be seen untouched.
    let found = doubled(&[Words(numbers.clone()), Words(vec![7; 24]), Number(20)]).expect("no fault");
    let mut expected: Vec<u32> = numbers.iter().map(|n| 2 * n).collect();
    expected.extend([7; 4]);
    assert_eq!(found[1], expected);
}

#[test]
fn an_access_outside_of_a_buffer_is_a_fault() {
    let (code, message) = doubled(&[Words(vec![1; 20]), Words(vec![0; 24]), Number(21)])
        .map_err(|d| (d.code, d.message))
        .expect_err("element 20 of 20");
    assert_eq!(code, Code::OutOfBounds);
    assert!(message.contains("element 20 of `%x`") && message.contains("program (2, 0, 0)"), "{message}");
}

#[test]
fn programs_race_and_assert() {
    let store = "kernel @k(%out: buffer) workgroup(32) {
        %i = tile.iota.tile<4xi32>
        tile.store.tile<4xi32> %out[%i], (tile.splat.tile<4xi32> (bitcast.i32 (workgroup_id.x))), true
      }";
    let raced = launch(store, checked(), [2, 1, 1], &[Words(vec![0; 4])]).expect_err("a race");
    assert_eq!(raced.code, Code::Race);
    // Elements of one program, too, unless they are equal.
    let low = |x: &str| {
        format!(
            "kernel @k(%out: buffer) workgroup(32) {{
        %i = tile.iota.tile<8xi32>
        %low = and %i, (tile.splat.tile<8xi32> 3)
        tile.store.tile<8xi32> %out[%low], {x}, true
      }}"
        )
    };
    let (code, message) = fault(&low("%i"), &[Words(vec![0; 4])]);
    assert_eq!(code, Code::Race);
    assert!(message.contains("element 0 is written to byte 0 of `%out`"), "{message}");
    assert!(launch(&low("%low"), checked(), [1, 1, 1], &[Words(vec![0; 4])]).is_ok());
    let assert = "kernel @k(%out: buffer) workgroup(32) {
        %i = tile.iota.tile<4xi32>
        tile.assert (lt %i, (tile.splat.tile<4xi32> 3)) text(@\"too many\")
      }";
    let (code, message) = fault(assert, &[Words(vec![0; 4])]);
    assert_eq!(code, Code::AssertionFailed);
    assert!(message.contains("for element 3: too many"), "{message}");
}

#[test]
fn text_of_tiles_is_read_back_as_it_was() {
    for file in ["shapes", "elements"] {
        let path = format!("{}/../../tests/ir/tile/{file}.gir", env!("CARGO_MANIFEST_DIR"));
        let module = module(&std::fs::read_to_string(&path).expect(&path));
        let printed = text::print(&module);
        let again = text::parse(SourceId::new(0), &printed).unwrap_or_else(|found| panic!("{printed}\n{found:#?}"));
        assert_eq!(text::print(&again.module), printed);
    }
}
