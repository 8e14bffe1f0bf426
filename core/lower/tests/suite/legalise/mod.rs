//! The same program gives the same result before and after legalisation, for every profile.

mod communication;
mod control;
mod halves;
mod memory;
mod operations;
mod refusals;
mod split;

use girih_base::diag::Diagnostic;
use girih_base::span::SourceId;
use girih_ir::caps::SubgroupWidths;
use girih_ir::{Caps, Feature, Module, Scalar, ScalarSet, Verified, eval, text, verify};
use girih_machine::interp::{Interpreter, Options};
use girih_runtime::{Argument, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory};

/// Devices of all kinds, real and made up.
pub fn profiles() -> Vec<Caps> {
    let mut lavapipe = Caps::web();
    let more = ScalarSet::of(&[Scalar::I64, Scalar::U64, Scalar::F16, Scalar::F64]);
    lavapipe.name = "lavapipe".into();
    lavapipe.arithmetic = lavapipe.arithmetic.or(more);
    lavapipe.atomic_floats = ScalarSet::of(&[Scalar::F32]);
    lavapipe.storage = lavapipe.storage.or(more);
    lavapipe.local_storage = lavapipe.local_storage.or(more);
    lavapipe.buffer_views = true;
    lavapipe.subgroup = SubgroupWidths { min: 8, max: 8 };
    let lavapipe = lavapipe.with(Feature::Subgroups).with(Feature::Atomic64);
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
    longs.subgroup = SubgroupWidths { min: 4, max: 64 };
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
pub fn parse(source: &str) -> Verified<Module> {
    let parsed = text::parse(SourceId::new(0), source).unwrap_or_else(|e| panic!("{e:#?}\n{source}"));
    verify(parsed.module).unwrap_or_else(|e| panic!("{e:#?}\n{source}"))
}

/// What a module is run on: as it is written, or legal for a profile.
pub struct Setting<'a> {
    /// The profile; none for the program as it is written.
    pub caps: Option<&'a Caps>,
    /// Lanes of a subgroup.
    pub subgroup: u32,
    /// Workgroups in x.
    pub grid: u32,
}

/// Runs a module's only kernel on the reference machine with its checks; gives the buffers afterwards.
pub fn run(
    module: &Verified<Module>,
    setting: &Setting<'_>,
    buffers: &[Vec<u8>],
    numbers: &[Constant],
) -> Result<Vec<Vec<u8>>, Vec<Diagnostic>> {
    let options = Options {
        subgroup: setting.subgroup,
        checked: true,
        caps: setting.caps.cloned(),
        fuel: Some(1 << 32),
        ..Options::default()
    };
    let device = Device::new(Interpreter::new(options));
    let kernel = module.kernels().next().expect("a kernel");
    let program = device.load(module, &[kernel], &LoadOptions::default())?.swap_remove(0);
    let one = |d| vec![d];
    let mut ids = vec![];
    for bytes in buffers {
        let id = device.zeroed(Memory::of(bytes.len() as u64)).map_err(one)?;
        device.write(&id, 0, bytes).map_err(one)?;
        ids.push(id);
    }
    let arguments = ids.iter().map(Argument::buffer);
    let arguments = arguments.chain(numbers.iter().map(|n| Argument::Scalar(*n))).collect();
    let dispatch = Dispatch { program, arguments, grid: Grid::Workgroups([setting.grid, 1, 1]) };
    device.submit(&[Command::Dispatch(dispatch)]).map_err(one)?;
    device.wait().map_err(one)?;
    let mut results = buffers.to_vec();
    for (id, bytes) in ids.iter().zip(&mut results) {
        device.read(id, 0, bytes).map_err(one)?;
    }
    Ok(results)
}

/// A kernel as it is made for a profile, for messages.
pub fn printed(module: &Verified<Module>, caps: &Caps) -> String {
    let kernel = module.kernels().next().expect("a kernel");
    match girih_lower::compile(module, &[kernel], caps, &LoadOptions::default()) {
        Ok(compiled) => text::print(&compiled.module),
        Err(errors) => format!("{errors:#?}"),
    }
}

/// Runs a kernel as written and on every profile, and compares all buffers byte by byte. Each profile's subgroups have the
/// width that `width` says for it.
pub fn same_everywhere(
    source: &str,
    grid: u32,
    buffers: &[Vec<u8>],
    numbers: &[Constant],
    width: impl Fn(&Caps) -> u32,
) {
    let module = parse(source);
    for caps in profiles() {
        let subgroup = width(&caps);
        let written = Setting { caps: None, subgroup, grid };
        let expected = run(&module, &written, buffers, numbers).unwrap_or_else(|e| panic!("{e:#?}\n{source}"));
        let found = run(&module, &Setting { caps: Some(&caps), ..written }, buffers, numbers);
        let found = found.unwrap_or_else(|e| panic!("{}: {e:#?}\n{}", caps.name, printed(&module, &caps)));
        assert!(expected == found, "{}: {expected:x?}\nis not\n{found:x?}\n{}", caps.name, printed(&module, &caps));
    }
}

/// Bytes of lanes.
pub fn pack(lanes: &[u64], ty: Scalar) -> Vec<u8> {
    lanes.iter().flat_map(|bits| bits.to_le_bytes()[..ty.bytes() as usize].to_vec()).collect()
}

/// Lanes from bytes.
pub fn unpack(bytes: &[u8], ty: Scalar) -> Vec<u64> {
    let lane = |b: &[u8]| b.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    bytes.chunks(ty.bytes() as usize).map(lane).collect()
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
