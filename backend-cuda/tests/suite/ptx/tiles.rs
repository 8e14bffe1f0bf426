//! The project's kernels in tile form as PTX: what is the card's own function in their text stays that in machine code.

use super::support::{module, told};
use girih_base::span::Sources;
use girih_cuda::ptx::{self, Launches, Target};
use girih_ir::{Caps, Scalar};
use girih_lower::compile;
use girih_runtime::LoadOptions;
use girih_triton::{Alone, Argument, Constant, Request};
use std::path::Path;

const HOPPER: Target = Target { sm: 90, specific: true };

/// The PTX of a kernel of `shaders/`.
fn written(file: &str, pointers: Scalar, constants: &[(&str, i128)], numbers: &[&str], floats: &[&str]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../shaders/{file}.py"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut sources = Sources::default();
    let kernels = girih_triton::kernels(&mut sources, file, &text, &Alone).expect("kernels");
    let described = kernels.iter().find(|kernel| kernel.name == file).expect("the kernel has the file's name");
    let mut request = Request { kernel: file.into(), num_warps: Some(4), ..Request::default() };
    for parameter in &described.parameters {
        let name = &*parameter.name;
        let argument = match constants.iter().find(|(constant, _)| *constant == name) {
            Some((_, n)) => Argument::Constant(Constant::Int(*n)),
            None if numbers.contains(&name) => Argument::Scalar(Scalar::I32, 1024),
            None if floats.contains(&name) => Argument::Scalar(Scalar::F32, 0x3f00_0000),
            None if parameter.constexpr => continue,
            None => Argument::Buffer(pointers),
        };
        request.arguments.push((name.to_owned(), argument));
    }
    let compiled = girih_triton::compile(&mut sources, file, &text, &Alone, &request);
    let compiled = compiled.unwrap_or_else(|said| panic!("{}", told(&sources, &said)));
    let caps = Caps::cuda(HOPPER.sm, HOPPER.specific);
    let legal = compile(&compiled.module, &[compiled.kernel], &caps, &LoadOptions::default());
    let legal = legal.unwrap_or_else(|said| panic!("{}", told(&sources, &said)));
    let entries: Vec<_> = legal.entries.iter().map(|entry| entry.kernel).collect();
    let ptx = ptx::render(&legal.module, &entries, HOPPER, Launches::Direct);
    ptx.unwrap_or_else(|said| panic!("{}", told(&sources, &said))).text
}

#[test]
fn powers_are_the_cards_own() {
    let softmax =
        written("softmax", Scalar::F32, &[("BLOCK", 1024)], &["row_stride", "out_stride", "rows", "columns"], &[]);
    let blocks = [("BLOCK_M", 64), ("BLOCK_N", 64), ("HEAD", 64)];
    let attention = written("attention", Scalar::F16, &blocks, &["n"], &["scale"]);
    for (name, text) in [("softmax", softmax), ("attention", attention)] {
        // One for each element of an invocation, and no polynomial in its place.
        let powers = text.matches("ex2.approx.ftz.f32").count();
        assert!(powers >= 8, "{name}: {powers} powers\n{text}");
        assert!(!text.contains("call "), "{name} calls a routine of the library\n{text}");
    }
}

#[test]
fn what_no_card_has_is_refused_by_name() {
    // The second one rounds twice, and no instruction does.
    let sum = "store.f32 %p[0], (mad.f32 (load.f32 %p[1]), (load.f32 %p[2]), 1.0)";
    for (line, name) in [("%t = tile.iota.tile<16xi32>", "tile.iota"), (sum, "mad")] {
        let text = format!("kernel @k(%p: buffer) workgroup(1, 1, 1) {{\n  {line}\n  return\n}}\n");
        let module = module("tiles.gir", &text);
        let (_, module) = module.unwrap_or_else(|(sources, said)| panic!("{}", told(&sources, &said)));
        let kernels: Vec<_> = module.kernels().collect();
        let said = ptx::render(&module, &kernels, HOPPER, Launches::Direct).expect_err("it was not made legal");
        assert!(said[0].message.contains(&format!("`{name}` cannot be written as PTX")), "{said:?}");
    }
}
