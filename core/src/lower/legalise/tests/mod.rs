//! The same program gives the same result before and after legalisation, for every profile.

mod machine;
mod operations;

use crate::ir::{Caps, Feature, FunctionId, Module, Scalar, ScalarSet, Type, eval, text, verify};
use crate::lower::entry::{Entry, Scalar as From, Slot};
use crate::span::SourceId;

/// Devices of all kinds, real and made up.
pub fn profiles() -> Vec<Caps> {
    let mut lavapipe = Caps::web();
    let more = ScalarSet::of(&[Scalar::I64, Scalar::U64, Scalar::F16, Scalar::F64]);
    lavapipe.name = "lavapipe".into();
    lavapipe.arithmetic = lavapipe.arithmetic.or(more);
    lavapipe.storage = lavapipe.storage.or(more);
    lavapipe.local_storage = lavapipe.local_storage.or(more);
    lavapipe.buffer_views = true;
    let lavapipe = lavapipe.with(Feature::Subgroups).with(Feature::Atomic64).with(Feature::AtomicFloat);
    let mut bare = Caps::web();
    bare.name = "bare".into();
    bare.storage = ScalarSet::of(&[Scalar::U32]);
    bare.local_storage = bare.storage;
    bare.access_bytes = 4;
    // Floats of 64 bits without integers of 64 bits, and the other way round.
    let mut doubles = Caps::web();
    doubles.name = "doubles".into();
    doubles.arithmetic = doubles.arithmetic.or(ScalarSet::of(&[Scalar::F64]));
    doubles.access_bytes = 8;
    let mut longs = lavapipe.clone();
    longs.name = "longs".into();
    longs.buffer_views = false;
    longs.arithmetic = longs.arithmetic.without(ScalarSet::of(&[Scalar::F16, Scalar::F64]));
    let longs = longs.with(Feature::FusedFma).with(Feature::ExactConversions).with(Feature::TotalDivision);
    vec![
        Caps::web(),
        lavapipe,
        bare,
        doubles,
        longs.with(Feature::MulHi),
        Caps::cuda(75, false),
        Caps::cuda(80, false),
        Caps::cuda(90, true),
    ]
}

/// Reads a module that has to be right.
pub fn parse(source: &str) -> Module {
    let parsed = text::parse(SourceId::new(0), source).unwrap_or_else(|e| panic!("{e:#?}\n{source}"));
    verify(parsed.module).unwrap_or_else(|e| panic!("{e:#?}\n{source}")).into_inner()
}

/// A kernel's entry as the loader makes it.
pub fn entry(module: &Module, kernel: FunctionId, caps: &Caps) -> Entry {
    let function = &module.functions[kernel];
    let slot = |(i, p): (usize, &crate::ir::ValueId)| match function.ty(*p) {
        Type::Memory(_) => Slot::Buffer(i),
        _ => Slot::Scalar(From::Argument(i)),
    };
    Entry {
        kernel,
        slots: function.params.iter().enumerate().map(slot).collect(),
        source: function.clone(),
        folded: false,
        largest_grid: caps.grid,
    }
}

/// The module made legal; its only kernel's entry.
pub fn legal(module: &Module, caps: &Caps) -> Result<(Module, Entry), Vec<crate::diag::Diagnostic>> {
    let kernel = module.kernels().next().expect("a kernel");
    let mut entries = [entry(module, kernel, caps)];
    let mut module = module.clone();
    super::run(&mut module, &mut entries, caps)?;
    let [entry] = entries;
    let printed = || text::print(&module);
    let wrong = super::check(&module, caps);
    assert!(wrong.is_empty(), "{}: {wrong:#?}\n{}", caps.name, printed());
    let checked = verify(module.clone()).unwrap_or_else(|e| panic!("{}: {e:#?}\n{}", caps.name, printed()));
    Ok((checked.into_inner(), entry))
}

/// Whether a result is as good as another by an operation's class; NaN is any NaN.
pub fn agree(ty: Scalar, a: u64, b: u64) -> bool {
    if a == b {
        return true;
    }
    if !ty.is_float() {
        return false;
    }
    let (x, y) = (eval::widen(a, ty), eval::widen(b, ty));
    x.is_nan() && y.is_nan()
}

/// Values at the edges of a type, as bits.
pub fn edges(ty: Scalar) -> Vec<u64> {
    let top = ty.mask() >> 1;
    match ty {
        Scalar::Bool => vec![0, 1],
        _ if ty.is_integer() => {
            let mut edges = vec![0, 1, 2, 3, 7, 31, 32, 33, top - 1, top, top + 1, top + 2, ty.mask() - 1, ty.mask()];
            edges.extend([0x5a, 0xdead_beef_cafe_f00d, 0x0123_4567_89ab_cdef, 0x8000_0001, 0x1_0000_0000, 0x0101_0001]);
            edges.extend([0x0100_0001, 0x7fff_ffff_ffff_fe00, 0x00ff_ff80_0000_0001]);
            edges.iter().map(|e| e & ty.mask()).collect()
        }
        Scalar::F8E4M3 | Scalar::F8E5M2 => {
            vec![0, 1, 7, 0x38, 0x3c, 0x77, 0x7b, 0x7c, 0x7e, 0x7f, 0x80, 0xb8, 0xfe, 0xff]
        }
        _ => {
            let numbers: [f64; 28] = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                1.5,
                2.5,
                -2.5,
                3.0,
                100.0,
                127.5,
                255.9,
                -128.7,
                300.0,
                65504.0,
                65519.0,
                2147483647.5,
                -2147483648.0,
                -2147483649.0,
                4294967295.0,
                4294967296.0,
                9.3e18,
                -9.3e18,
                1.9e19,
                0.1,
                1e-5,
                1e-40,
                f64::INFINITY,
            ];
            let mut bits: Vec<u64> = numbers.iter().map(|x| eval::narrow(*x, ty)).collect();
            bits.extend([f64::NEG_INFINITY, f64::NAN, 3.4e38, 448.0, 57344.0].map(|x| eval::narrow(x, ty)));
            bits
        }
    }
}
