//! The PTX of small kernels, as it is written down.

use super::assembler::target;
use super::support::{kernel, rendered};

/// Declares a test that renders a text for a target.
macro_rules! snapshots {
    ($($name:ident $target:literal $text:expr;)*) => {
        $(#[test]
        fn $name() {
            let text = $text;
            insta::assert_snapshot!(rendered(stringify!($name), &text, target($target)).text);
        })*
    };
}

snapshots! {
    saxpy "sm_75" kernel("saxpy.gir");
    swap_at_a_back_edge "sm_80"
        "kernel @k(%m: buffer, %n: u32) workgroup(32) {\n  %x, %y, %k = loop (%x: u32 = 1, %y: u32 = 2, %k: u32 = 0) {\n    \
         while (lt.u32 %k, %n) next %y, %x, (add.u32 %k, 1)\n  }\n  store.u32 %m[0], %x\n  store.u32 %m[1], %y\n}\n";
    loop_in_place "sm_80"
        "kernel @k(%m: buffer, %n: u32) workgroup(32) {\n  %s: f32 = loop (%i: u32 = 0, %s: f32 = 0.0) {\n    \
         if (ge.u32 %i, %n) {\n      break %s\n    }\n    continue (add.u32 %i, 1), (add.f32 %s, (load.f32 %m[%i]))\n  }\n  \
         store.f32 %m[0], %s\n}\n";
    guarded_store "sm_80"
        "kernel @k(%m: buffer, %n: u32) workgroup(32) {\n  %i = global_id.x\n  if (lt.u32 %i, %n) {\n    \
         store.u32 %m[%i + 3], %i\n  }\n}\n";
    selection "sm_80"
        "kernel @k(%m: buffer, %n: u32) workgroup(32) {\n  %i = global_id.x\n  %a: u32, %b: u32 = if (lt.u32 %i, %n) {\n    yield %i, %n\n  } \
         else {\n    yield %n, %i\n  }\n  store.u32 %m[%a], %b\n}\n";
    table_of_cases "sm_80"
        "kernel @k(%m: buffer, %n: u32) workgroup(32) {\n  switch.u32 %n case 0 {\n    store.u32 %m[0], 1\n  } case 1, 2 {\n    \
         store.u32 %m[0], 2\n  } case 3 {\n    return\n  } case 4, 5 {\n    store.u32 %m[0], 5\n  } default {\n  }\n}\n";
    conversions "sm_90"
        "kernel @k(%m: buffer) workgroup(32) {\n  store.i32 %m[0], (convert.i32 (load.f64 %m[1]))\n  \
         store.bf16 %m[1], (convert.bf16 (load.i64 %m[1]))\n  store.u8 %m[9], (convert.u8 (load.f32 %m[1]))\n  \
         store.f16 %m[9], (convert.f16 (load.f32 %m[1]))\n}\n";
    call_of_a_function "sm_80"
        "fn @f(%x: u32, %up: bool) -> u32, bool {\n  loop (%i: u32 = 0) {\n    if (gt.u32 %i, %x) {\n      return %i, %up\n    }\n    \
         while (lt.u32 %i, 100) next (add.u32 (mul.u32 %i, 3), 1)\n  }\n  return %x, false\n}\nkernel @k(%m: buffer, %n: u32) workgroup(32) {\n  %a, %b = call @f(%n, true)\n  \
         store.u32 %m[0], (select.u32 %b, %a, 0)\n}\n";
    reduction_in_a_partial_subgroup "sm_75"
        "kernel @k(%m: buffer) workgroup(40) {\n  %i = local_index\n  store.f32 %m[%i], (subgroup.add.f32 (load.f32 %m[%i]))\n}\n";
    chosen_shared_memory "sm_80"
        "kernel @k(%m: buffer, %n: u32) workgroup(32) launch {\n  %k = mul.u32 %n, 2\n  grid 1, 1, 1\n} {\n  \
         shared %a: f32[%k]\n  shared %b: u64[%k]\n  %i = local_index\n  \
         store.f32 %a[%i], 1.0\n  store.u64 %b[%i + 1], 2\n  barrier\n  store.f32 %m[%i], (load.f32 %a[%i])\n}\n";
    volatile_loads "sm_80"
        "kernel @k(%m: buffer align(16), %n: u32) workgroup(32) {\n  loop {\n    %seen = load.u32 %m[0] volatile\n    \
         while (ne.u32 %seen, %n)\n  }\n  %v = load.f32x4 %m[1] volatile\n  store.f32 %m[1], (extract.f32 %v, 2)\n}\n";
    orders_of_atomics "sm_80"
        "kernel @k(%m: buffer) workgroup(32) {\n  atomic.add.u32 %m[0], 1\n  %a = atomic.add.u32 %m[1], 1 order(acquire) scope(workgroup)\n  \
         atomic.store.u32 %m[2], %a order(release)\n  fence order(acquire_release)\n}\n";
    copies_beside_the_program "sm_80"
        "kernel @k(%m: buffer readonly align(16), %n: u32) workgroup(32) {\n  shared %s: f32x4[64]\n  %i = local_index\n  \
         async.copy.f32x4 %s[%i], %m[%i], (lt.u32 %i, %n)\n  async.copy.f32x4 %s[%i + 32], %m[%i + 32], true\n  async.commit\n  \
         async.wait\n  barrier\n}\n";
    warpgroup_products "sm_90a" kernel("warpgroups.gir");
}

#[test]
fn grid_in_memory() {
    use girih_cuda::ptx::Launches;
    let text = "kernel @k(%m: buffer) workgroup(32) {\n  shared %s: u32[32]\n  %i = local_index\n  store.u32 %s[%i], %i\n  barrier\n  \
                store.u32 %m[(global_id.x)], (load.u32 %s[(xor.u32 %i, 1)])\n}\n";
    let ptx = super::support::try_render("indirect", text, target("sm_80"), Launches::Indirect);
    insta::assert_snapshot!(ptx.unwrap_or_else(|(_, said)| panic!("{said:?}")).text);
}
