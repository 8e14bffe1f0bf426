//! What is rounded to `f16` is so, too, on a device that leaves out conversions there and back.

use super::{Setting, pack, parse, run, unpack};
use girih_ir::{Caps, Def, Feature, Module, Op, Scalar, ScalarSet, eval, verify};
use girih_runtime::LoadOptions;

const THERE_AND_BACK: &str = "
kernel @k(%in: buffer readonly, %out: buffer) workgroup(64) {
  %i = global_id.x
  %x = bitcast.f32 (load.u32 %in[%i])
  %y = convert.f32 (convert.f16 %x)
  store.u32 %out[%i], (bitcast.u32 %y)
}";

/// A profile with `f16`.
fn with_halves() -> Caps {
    let mut caps = Caps::web();
    let half = ScalarSet::of(&[Scalar::F16]);
    caps.arithmetic = caps.arithmetic.or(half);
    caps.storage = caps.storage.or(half);
    caps
}

/// Makes each conversion from `f16` of what was just converted to it nothing, as drivers do; gives how many there were.
fn leave_out(module: &mut Module) -> usize {
    let mut found = 0;
    for function in module.functions.iter_mut() {
        for id in function.insts.ids() {
            let inst = &function.insts[id];
            if inst.op != Op::Convert || inst.element() != Scalar::F32 {
                continue;
            }
            let Def::Result(before, _) = function.values[inst.operands[0]].def else { continue };
            let before = &function.insts[before];
            if before.op == Op::Convert && before.element() == Scalar::F16 {
                let number = before.operands[0];
                function.insts[id].op = Op::Bitcast;
                function.insts[id].operands[0] = number;
                found += 1;
            }
        }
    }
    found
}

/// Numbers of all magnitudes, and those beside the middle between two that are halves.
fn patterns() -> Vec<u64> {
    let mut patterns = vec![];
    for half in 0..0x7c00u64 {
        let (low, high) = (eval::widen(half, Scalar::F16), eval::widen(half + 1, Scalar::F16));
        let high = if high.is_finite() { high } else { 65536.0 };
        let middle = u64::from((((low + high) / 2.0) as f32).to_bits());
        let sign = (half & 1) << 31;
        patterns.extend([middle.saturating_sub(1), middle, middle + 1].map(|bits| bits ^ sign));
    }
    patterns.extend((0..0x1_0000u64).map(|i| i.wrapping_mul(0x9e37_79b1) & 0xffff_ffff));
    patterns.extend([0, 1 << 31, 1, 0x8000_0001, 0x7f80_0000, 0xff80_0000, 0x7f7f_ffff, 0x477f_efff, 0xc77f_f000]);
    patterns.resize(patterns.len().next_multiple_of(64), 0x3f80_0001);
    patterns
}

#[test]
fn a_driver_may_leave_out_conversions() {
    let module = parse(THERE_AND_BACK);
    let kernel = module.kernels().next().expect("a kernel");
    let inputs = patterns();
    let buffers = [pack(&inputs, Scalar::F32), vec![0; inputs.len() * 4]];
    let setting = Setting { caps: None, subgroup: 32, grid: (inputs.len() / 64) as u32 };
    for (caps, is_rounded) in [(with_halves(), true), (with_halves().with(Feature::RoundedConversions), false)] {
        let compiled =
            girih_lower::compile(&module, &[kernel], &caps, &LoadOptions::default()).expect("a kernel for it");
        let mut without = compiled.module.into_inner();
        assert_eq!(leave_out(&mut without), 1);
        let without = verify(without).expect("a right module");
        let found = run(&without, &setting, &buffers, &[]).expect("results");
        let wrong = inputs.iter().zip(unpack(&found[1], Scalar::F32)).filter(|(x, found)| {
            let half = eval::narrow(eval::widen(**x, Scalar::F32), Scalar::F16);
            let expected = eval::narrow(eval::widen(half, Scalar::F16), Scalar::F32);
            *found != expected && !f32::from_bits(expected as u32).is_nan()
        });
        let wrong: Vec<_> = wrong.collect();
        assert_eq!(wrong.is_empty(), is_rounded, "{wrong:x?}");
    }
}

#[test]
fn what_is_only_stored_is_left_to_the_device() {
    let stored = parse(
        "kernel @k(%in: buffer readonly, %out: buffer) workgroup(64) {
           %i = global_id.x
           store.f16 %out[%i], (convert.f16 (load.f32 %in[%i]))
         }",
    );
    let read = parse(THERE_AND_BACK);
    for (module, adds) in [(stored, false), (read, true)] {
        let kernel = module.kernels().next().expect("a kernel");
        let compiled =
            girih_lower::compile(&module, &[kernel], &with_halves(), &LoadOptions::default()).expect("a kernel for it");
        let is_rounded = compiled
            .module
            .functions
            .iter()
            .flat_map(|f| f.insts.iter())
            .any(|inst| inst.op == Op::Sub && inst.element() == Scalar::F32);
        assert_eq!(is_rounded, adds);
    }
}
