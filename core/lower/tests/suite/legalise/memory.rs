//! Accesses of every type in every space, alone and side by side.

use super::{Setting, edges, pack, parse, profiles, run, same_everywhere};
use girih_base::diag::Code;
use girih_ir::{Scalar, ScalarSet, Type};

/// Types that memory can hold: scalars and short vectors.
fn types() -> Vec<Type> {
    let mut types = vec![];
    for s in ScalarSet::STORED.iter().filter(|s| *s != Scalar::F64) {
        types.push(Type::Scalar(s));
        types.extend(
            [2, 4, 8, 16].into_iter().filter(|n| Type::is_short_vector(s, *n)).map(|n| Type::Vector(s, n as u8)),
        );
    }
    types
}

/// Bytes that differ everywhere.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 37 + 11 + i / 256 * 5) as u8).collect()
}

#[test]
fn copies_are_exact() {
    for ty in types() {
        let source = format!(
            "kernel @copy(%from: buffer, %to: buffer) workgroup(16) {{\n  %i = local_index\n  %a = load.{ty} %from[%i + 1]\n  \
             store.{ty} %to[%i + 2], %a\n}}\n"
        );
        let size = 16 * ty.bytes() as usize;
        same_everywhere(&source, 1, &[bytes(2 * size), bytes(3 * size)], &[], |_| 32);
    }
}

#[test]
fn neighbours_of_short_stores_stay() {
    // Each second element is written, by invocations that share words.
    for ty in types().into_iter().filter(|t| t.bytes() < 4) {
        let source = format!(
            "kernel @every_second(%from: buffer, %to: buffer) workgroup(32) {{\n  %i = local_index\n  \
             %a = load.{ty} %from[%i]\n  %j = mul.u32 %i, 2\n  store.{ty} %to[%j + 1], %a\n}}\n"
        );
        same_everywhere(&source, 1, &[bytes(128), bytes(256)], &[], |_| 32);
    }
}

#[test]
fn shared_and_private_memory_of_any_type() {
    for ty in types() {
        for space in ["shared", "private"] {
            let barrier = if space == "shared" { "barrier" } else { "" };
            // Shared memory is read by another invocation than the one that wrote, private memory by the same.
            let other = if space == "shared" { "(sub.u32 15, %i)" } else { "%i" };
            let source = format!(
                "kernel @through(%from: buffer, %to: buffer) workgroup(16) {{\n  {space} %m: {ty}[16]\n  %i = local_index\n  \
                 %a = load.{ty} %from[%i]\n  store.{ty} %m[%i], %a\n  {barrier}\n  %b = load.{ty} %m[{other}]\n  \
                 store.{ty} %to[%i], %b\n}}\n"
            );
            let size = 16 * ty.bytes() as usize;
            same_everywhere(&source, 1, &[bytes(size.max(16)), vec![0; size.max(16)]], &[], |_| 32);
        }
    }
}

#[test]
fn one_memory_as_several_types() {
    // Written as one type, read as another; 16 invocations move 16 bytes each.
    let types = types();
    let pairs = types.iter().step_by(5).flat_map(|w| types.iter().step_by(7).map(move |r| (*w, *r)));
    let few = [Scalar::U8, Scalar::F16, Scalar::F32, Scalar::I64];
    let alike = types.iter().flat_map(|w| types.iter().map(move |r| (*w, *r)));
    let alike = alike.filter(|(w, r)| w.element() == r.element() && w.element().is_some_and(|s| few.contains(&s)));
    for (written, read) in pairs.chain(alike) {
        // Shared and private memory is accessed as its own scalar only.
        let spaces: &[&str] =
            if written.element() == read.element() { &["shared", "private", "buffer"] } else { &["buffer"] };
        for space in spaces.iter().copied() {
            let (stores, loads) = (16 / written.bytes(), 16 / read.bytes());
            let base = if space == "private" { "(mul.u32 %i, 0)" } else { "%i" };
            let mut body = String::new();
            for k in 0..stores {
                body += &format!(
                    "  store.{written} %m[{base} + {k}], (load.{written} %from[%w + {k}])\n",
                    base = format_args!("(mul.u32 {base}, {stores})")
                );
            }
            if space != "private" {
                body += "  barrier spaces(shared, global)\n";
            }
            for k in 0..loads {
                body += &format!(
                    "  store.{read} %to[%r + {k}], (load.{read} %m[{base} + {k}])\n",
                    base = format_args!("(mul.u32 {base}, {loads})")
                );
            }
            let (param, memory) = match space {
                "buffer" => (", %m: buffer", String::new()),
                "shared" => ("", format!("  shared %m: {written}[{}] align(16)\n", 16 * stores)),
                _ => ("", format!("  private %m: {written}[{stores}] align(16)\n")),
            };
            let source = format!(
                "kernel @k(%from: buffer, %to: buffer{param}) workgroup(16) {{\n{memory}  %i = local_index\n  \
                 %w = mul.u32 %i, {stores}\n  %r = mul.u32 %i, {loads}\n{body}}}\n"
            );
            let mut buffers = vec![bytes(256), vec![0; 256]];
            if space == "buffer" {
                buffers.push(vec![0; 256]);
            }
            same_everywhere(&source, 1, &buffers, &[], |_| 32);
        }
    }
}

#[test]
fn atomics_beside_other_accesses() {
    let updates = ["add", "min", "max", "and", "or", "xor", "exchange"];
    for update in updates {
        for ty in [Scalar::U32, Scalar::I32] {
            for (space, other) in [("shared", ty.name()), ("buffer", "i32"), ("buffer", "f32"), ("buffer", "u16x2")] {
                let (param, memory) = match space {
                    "buffer" => (", %m: buffer", String::new()),
                    _ => ("", format!("  shared %m: {ty}[4]\n")),
                };
                // One invocation after the other: the old value is known.
                let source = format!(
                    "kernel @k(%to: buffer{param}) workgroup(4) {{\n{memory}  %i = local_index\n  \
                     store.{other} %m[%i], (bitcast.{other} (mul.u32 %i, 0x40000001))\n  barrier spaces(shared, global)\n  \
                     %old = atomic.{update}.{ty} %m[%i], (bitcast.{ty} (sub.u32 0x80000003, %i))\n  \
                     store.{ty} %to[%i], %old\n  barrier spaces(shared, global)\n  \
                     store.{ty} %to[%i + 4], (load.{ty} %m[%i])\n}}\n"
                );
                let mut buffers = vec![vec![0; 32]];
                buffers.extend((space == "buffer").then(|| vec![0; 16]));
                same_everywhere(&source, 1, &buffers, &[], |_| 32);
            }
        }
    }
}

#[test]
fn signed_and_unsigned_minimum_of_one_place() {
    let source = "kernel @k(%m: buffer, %to: buffer) workgroup(1) {
  store.i32 %to[0], (atomic.min.i32 %m[0], -5)
  store.u32 %to[1], (atomic.min.u32 %m[0], 7)
  store.i32 %to[2], (atomic.max.i32 %m[0], 3)
  store.u32 %to[3], (atomic.max.u32 %m[0], 0x80000000)
  store.u32 %to[4], (atomic.compare_exchange.u32 %m[0], 0x80000000, 99)
  store.f32 %to[5], (atomic.add.f32 %m[1], 1.5)
  store.f32 %to[6], (atomic.add.f32 %m[1], 2.25)
}
";
    same_everywhere(source, 1, &[vec![0; 16], vec![0; 32]], &[], |_| 32);
}

#[test]
fn uniform_loads_of_any_type() {
    for ty in types().into_iter().filter(|t| t.lanes() == 1) {
        let source = format!(
            "kernel @k(%from: buffer, %to: buffer) workgroup(8) {{\n  shared %m: {ty}[8]\n  %i = local_index\n  \
             store.{ty} %m[%i], (load.{ty} %from[%i])\n  %a = uniform_load.{ty} %m[3]\n  store.{ty} %to[%i], %a\n}}\n"
        );
        let size = (8 * ty.bytes() as usize).max(16);
        same_everywhere(&source, 1, &[bytes(size), vec![0; size]], &[], |_| 32);
    }
}

#[test]
fn wide_indices() {
    let source = "kernel @k(%from: buffer, %to: buffer) workgroup(8) {
  shared %m: u16[8]
  %i = convert.u64 (local_index)
  store.u16 %m[%i], (load.u16 %from[%i + 1])
  barrier
  store.u16 %to[(sub.u64 8, %i) - 1], (load.u16 %m[%i])
  store.f32x4 %to[%i + 1], (load.f32x4 %from[%i])
}
";
    same_everywhere(source, 1, &[bytes(256), vec![0; 256]], &[], |_| 32);
}

#[test]
fn what_is_stored_is_every_edge() {
    // A copy through arithmetic that changes nothing, so that values pass through registers.
    for s in ScalarSet::STORED.iter().filter(|s| *s != Scalar::F64) {
        let edges = edges(s);
        let count = edges.len();
        let source = format!(
            "kernel @k(%from: buffer, %to: buffer) workgroup({count}) {{\n  %i = local_index\n  %a = load.{s} %from[%i]\n  \
             %b = select.{s} (ge.u32 %i, 0), %a, (load.{s} %from[0])\n  store.{s} %to[%i], %b\n}}\n"
        );
        let mut input = pack(&edges, s);
        input.resize(input.len().next_multiple_of(16), 0);
        let output = vec![0; input.len()];
        same_everywhere(&source, 1, &[input, output], &[], |_| 32);
    }
}

#[test]
fn wide_atomics_are_refused_by_name() {
    let source = "kernel @k(%m: buffer) workgroup(1) {\n  atomic.store.u64 %m[0], (atomic.add.u64 %m[0], 1)\n}\n";
    let module = parse(source);
    for caps in profiles() {
        let found = run(&module, &Setting { caps: Some(&caps), subgroup: 32, grid: 1 }, &[vec![0; 16]], &[]);
        match found {
            Ok(_) => assert!(caps.has(girih_ir::Feature::Atomic64), "{}", caps.name),
            Err(errors) => assert!(errors.iter().all(|e| e.code == Code::NeedsFeature), "{errors:#?}"),
        }
    }
}

/// What atomics compute with, by operation: 16 bits and more, of which only those of 64 need the device's help.
#[test]
fn atomics_of_short_numbers_and_floats() {
    let short = [Scalar::I16, Scalar::U16];
    let floats = [Scalar::F16, Scalar::Bf16, Scalar::F32];
    for (updates, types) in [
        (&["add", "min", "max", "exchange"][..], [&short[..], &floats].concat()),
        (&["and", "or", "xor"], short.to_vec()),
    ] {
        for (update, ty) in updates.iter().flat_map(|update| types.iter().map(move |ty| (update, ty))) {
            // Neighbours in a word, one invocation after the other.
            let source = format!(
                "kernel @k(%m: buffer, %by: buffer, %to: buffer) workgroup(8) {{\n  %i = local_index\n  \
                 %old = atomic.{update}.{ty} %m[%i + 1], (load.{ty} %by[%i])\n  store.{ty} %to[%i], %old\n  \
                 barrier spaces(global)\n  store.{ty} %to[%i + 8], (load.{ty} %m[%i])\n}}\n"
            );
            let (edges, size) = (edges(*ty), ty.bytes() as usize);
            let pick =
                |first: usize| pack(&std::array::from_fn::<u64, 12, _>(|i| edges[(first + 5 * i) % edges.len()]), *ty);
            same_everywhere(&source, 1, &[pick(2), pick(0), vec![0; 16 * size]], &[], |_| 32);
        }
    }
}

#[test]
fn compare_exchanges_of_short_numbers_and_floats() {
    for ty in [Scalar::I16, Scalar::U16, Scalar::F16, Scalar::Bf16, Scalar::F32] {
        // Every second one expects what is there. Zeros of both signs are not the same.
        let source = format!(
            "kernel @k(%m: buffer, %expected: buffer, %to: buffer) workgroup(8) {{\n  shared %s: {ty}[8]\n  %i = local_index\n  \
             store.{ty} %s[%i], (load.{ty} %m[%i])\n  barrier\n  %e = load.{ty} %expected[%i]\n  \
             %a = atomic.compare_exchange.{ty} %m[%i], %e, (load.{ty} %expected[7])\n  \
             %b = atomic.compare_exchange.{ty} %s[%i], %e, (load.{ty} %expected[7])\n  barrier spaces(shared, global)\n  \
             store.{ty} %to[%i], %a\n  store.{ty} %to[%i + 8], %b\n  store.{ty} %to[%i + 16], (load.{ty} %s[%i])\n}}\n"
        );
        let edges = edges(ty);
        let there: Vec<u64> = (0..8).map(|i| edges[i % edges.len()]).collect();
        let expected: Vec<u64> =
            (0..8).map(|i| if i % 2 == 0 { there[i] } else { edges[(i + 1) % edges.len()] }).collect();
        let buffers = [pack(&there, ty), pack(&expected, ty), vec![0; 24 * ty.bytes() as usize]];
        same_everywhere(&source, 1, &buffers, &[], |_| 32);
    }
}

#[test]
fn atomic_loads_and_stores_of_parts_of_words() {
    for ty in [Scalar::I16, Scalar::U16] {
        let source = format!(
            "kernel @k(%m: buffer, %to: buffer) workgroup(8) {{\n  %i = local_index\n  %a = atomic.load.{ty} %m[%i]\n  \
             atomic.store.{ty} %m[%i], (add.{ty} %a, 7)\n  barrier spaces(global)\n  store.{ty} %to[%i], (load.{ty} %m[7])\n}}\n"
        );
        same_everywhere(&source, 1, &[pack(&edges(ty)[..8], ty), vec![0; 16]], &[], |_| 32);
    }
}

#[test]
fn doubles_are_added_and_exchanged_where_words_of_their_length_are() {
    let source = "kernel @k(%m: buffer, %to: buffer) workgroup(4) {
  %i = local_index
  store.f64 %to[%i], (atomic.add.f64 %m[%i], (load.f64 %m[%i + 4]))
  store.f64 %to[%i + 4], (atomic.max.f64 %m[%i + 4], -0.5)
  store.f64 %to[%i + 8], (atomic.compare_exchange.f64 %m[%i], 3.0, 7.5)
  barrier spaces(global)
  store.f64 %to[%i + 12], (load.f64 %m[%i])
}
";
    let module = parse(source);
    let numbers: Vec<u64> =
        [1.0f64, 0.25, -3.0, 1e300, 2.0, -0.75, f64::NAN, 1e308].iter().map(|x| x.to_bits()).collect();
    let buffers = [pack(&numbers, Scalar::F64), vec![0; 128]];
    for caps in profiles() {
        let expected = run(&module, &Setting { caps: None, subgroup: 32, grid: 1 }, &buffers, &[]).expect("written");
        match run(&module, &Setting { caps: Some(&caps), subgroup: 32, grid: 1 }, &buffers, &[]) {
            Ok(found) => assert_eq!(expected, found, "{}", caps.name),
            Err(errors) => {
                assert!(errors.iter().all(|e| e.code == Code::NeedsFeature), "{errors:#?}");
                assert!(!(caps.has(girih_ir::Feature::Atomic64) && caps.arithmetic.has(Scalar::F64)), "{}", caps.name);
            }
        }
    }
}
