//! What nothing can stand for is refused by name, with a place and a hint.

use super::{parse, profiles};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Caps, Feature};
use girih_runtime::LoadOptions;

fn errors(source: &str, caps: &Caps) -> Vec<Diagnostic> {
    let module = parse(source);
    let kernels: Vec<_> = module.kernels().collect();
    girih_lower::compile(&module, &kernels, caps, &LoadOptions::default()).err().unwrap_or_default()
}

/// The only error for the web's profile.
fn web(source: &str) -> Diagnostic {
    let mut errors = errors(source, &Caps::web());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    let error = errors.remove(0);
    assert!(error.hint.is_some() && !error.span().is_none(), "{error:#?}");
    error
}

#[test]
fn doubles() {
    let error = web("kernel @k(%m: buffer) workgroup(1) {\n  store.f64 %m[0], 1.5\n}\n");
    assert_eq!((error.code, error.message.contains("f64")), (Code::NeedsFeature, true));
}

#[test]
fn asynchronous_copies() {
    let source = "kernel @k(%m: buffer) workgroup(1) {
  shared %s: f32x4[4]
  async.copy.f32x4 %s[0], %m[0], true
  async.commit
  async.wait
  barrier
  store.f32x4 %m[1], (load.f32x4 %s[0])
}
";
    let found = errors(source, &Caps::web());
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found.iter().all(|e| e.code == Code::NeedsFeature && e.message.contains("async_copy")), "{found:#?}");
    assert!(errors(source, &Caps::cuda(80, false)).is_empty());
}

#[test]
fn orders_of_atomics() {
    let error = web("kernel @k(%m: buffer) workgroup(1) {\n  atomic.store.u32 %m[0], 1 order(release)\n}\n");
    assert_eq!((error.code, error.message.contains("ordered_atomics")), (Code::NeedsFeature, true));
}

#[test]
fn fragments() {
    let source = "kernel @k(%m: buffer) workgroup(32) {
  %c = coop.splat.coop<acc, 16x16x16, f32> 0.0
  coop.store.coop<acc, 16x16x16, f32> %m[0], %c, 16
}
";
    for caps in profiles() {
        let found = errors(source, &caps);
        let has = caps.coop.iter().any(|p| (p.shape.k, p.acc) == (16, girih_ir::Scalar::F32));
        assert_eq!(found.is_empty(), has, "{}: {found:#?}", caps.name);
        assert!(found.iter().all(|e| e.code == Code::NeedsFeature), "{}: {found:#?}", caps.name);
    }
    let mut caps = Caps::web().with(Feature::Subgroups);
    caps.coop.push(girih_ir::caps::CoopProduct {
        shape: girih_ir::types::MatrixShape { m: 16, n: 16, k: 16 },
        factor: girih_ir::Scalar::F16,
        acc: girih_ir::Scalar::F32,
        precision: girih_ir::attrs::Precision::Ieee,
    });
    assert!(errors(source, &caps).is_empty());
}

/// The same fragments, but another product of them.
#[test]
fn products_of_fragments() {
    let source = |precision: &str| {
        format!(
            "kernel @k(%m: buffer) workgroup(32) {{
  %a = coop.load.coop<a, 16x16x8, f32> %m[0], 8
  %b = coop.load.coop<b, 16x16x8, f32> %m[128], 16
  %c = coop.splat.coop<acc, 16x16x8, f32> 0.0
  coop.store.coop<acc, 16x16x8, f32> %m[0], (coop.mma.coop<acc, 16x16x8, f32> %a, %b, %c{precision}), 16
}}
"
        )
    };
    let caps = Caps::cuda(80, false);
    for precision in [" precision(tf32)", " precision(tf32x3)"] {
        assert!(errors(&source(precision), &caps).is_empty(), "{precision}");
        assert!(!errors(&source(precision), &Caps::cuda(75, false)).is_empty(), "{precision}");
    }
    let found = errors(&source(""), &caps);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].message.contains("a product of `f32` fragments added to `f32` in 16x16x8"), "{found:#?}");
    let mut rounds = caps;
    rounds.coop.retain(|p| p.precision != girih_ir::attrs::Precision::Tf32x3);
    let found = errors(&source(" precision(tf32x3)"), &rounds);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].message.contains("`f32` fragments taken as sums of `tf32`"), "{found:#?}");
}

#[test]
fn limits() {
    let empty = |launch: &str| format!("kernel @k(%m: buffer) {launch} {{\n  store.u32 %m[0], 1\n}}\n");
    let tile = |launch: &str| {
        let body = "tile.store.tile<16xi32> %m[(tile.iota.tile<16xi32>)], (tile.iota.tile<16xi32>), true";
        format!("kernel @k(%m: buffer) {launch} {{\n  {body}\n}}\n")
    };
    for (source, word) in [
        (empty("workgroup(16, 32)"), "512 invocations"),
        (empty("workgroup(1, 1, 65)"), "65 in z"),
        // One in tile form is laid along x, by powers of two: what was written is named.
        (tile("workgroup(9, 33)"), "297 invocations"),
        (tile("workgroup(65535, 65535)"), "4294836225 invocations"),
        (
            "kernel @k(%m: buffer) workgroup(64) {\n  shared %s: f32[4097]\n  store.f32 %s[0], 1.0\n  barrier\n  \
             store.f32 %m[0], (load.f32 %s[0])\n}\n"
                .into(),
            "16388 bytes of shared memory",
        ),
    ] {
        let error = web(&source);
        assert_eq!(error.code, Code::OverLimit, "{error:#?}");
        assert!(error.message.contains(word), "{error:#?}");
    }
    let params: String = (0..9).map(|i| format!("%m{i}: buffer, ")).collect();
    let stores: String = (0..9).map(|i| format!("  store.u32 %m{i}[0], %n\n")).collect();
    let error = web(&format!("kernel @k({params}%n: u32) workgroup(1) {{\n{stores}}}\n"));
    assert_eq!((error.code, error.message.contains("9 buffers")), (Code::OverLimit, true));
}

#[test]
fn a_kernel_with_several_faults_hears_of_all() {
    let source = "kernel @k(%m: buffer) workgroup(512) {
  store.f64 %m[0], 1.0
  atomic.store.u32 %m[2], 1 order(release)
}
";
    assert!(errors(source, &Caps::web()).len() >= 3);
}

#[test]
fn barriers_stay_uniform_behind_routines() {
    // The bound of the loop goes through routines of the library on this profile.
    let source = "kernel @k(%m: buffer, %n: u64, %x: f32) workgroup(64) {
  shared %s: u32[64]
  %i = local_index
  %end = convert.u32 (div.u64 %n, 3)
  %more = gt.f32 (div.f32 (exp.f32 %x), 3.0), 0.5
  if %more {
    loop (%k: u32 = 0) {
      store.u32 %s[%i], %k
      barrier
      store.u32 %m[%i], (load.u32 %s[(sub.u32 63, %i)])
      barrier
      while (lt.u32 %k, %end) next (add.u32 %k, 1)
    }
  }
}
";
    for caps in profiles() {
        assert!(errors(source, &caps).is_empty(), "{}: {:#?}", caps.name, errors(source, &caps));
    }
}
