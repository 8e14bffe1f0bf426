//! What the uniformity analysis says about values, by name.

use girih_base::span::SourceId;
use girih_ir::ops::Uniformity::{self, Launch, Subgroup, Varying, Warpgroup, Workgroup};
use girih_ir::{Module, text, verify};

fn levels(source: &str, expected: &[(&str, Uniformity)]) {
    let module: Module = text::parse(SourceId::new(0), source).unwrap_or_else(|d| panic!("{d:#?}")).module;
    let module = verify(module).unwrap_or_else(|d| panic!("{d:#?}"));
    let id = module.functions.ids().last().expect("a function");
    let levels = verify::uniformity::analyse(&module, id);
    let function = &module.functions[id];
    for (name, level) in expected {
        let named = |v: &girih_ir::Value| v.name.as_ref().is_some_and(|n| **n == **name);
        let (value, _) =
            function.values.iter_enumerated().find(|(_, v)| named(v)).unwrap_or_else(|| panic!("no %{name}"));
        assert_eq!(levels.value(value), *level, "%{name} in\n{source}");
    }
}

#[test]
fn positions_parameters_and_arithmetic() {
    levels(
        "kernel @k(%n: u32, %m: buffer readonly, %w: buffer) workgroup(64) {
            %size = workgroup_size.x
            %group = workgroup_id.x
            %id = local_index
            %sub = subgroup_id
            %a = add.u32 %n, %size
            %b = add.u32 %a, %group
            %c = add.u32 %b, %sub
            %d = add.u32 %c, %id
            %fixed = load.u32 %m[%n]
            %mine = load.u32 %m[%id]
            %written = load.u32 %w[%n]
            %voted = any (lt.u32 %d, 3)
            store.u32 %w[%id], (select.u32 %voted, %fixed, (add.u32 %mine, %written))
        }",
        &[
            ("n", Launch),
            ("size", Launch),
            ("group", Workgroup),
            ("sub", Subgroup),
            ("id", Varying),
            ("a", Launch),
            ("b", Workgroup),
            ("c", Subgroup),
            ("d", Varying),
            ("fixed", Launch),
            ("mine", Varying),
            ("written", Varying),
            ("voted", Subgroup),
        ],
    );
}

#[test]
fn choices() {
    levels(
        "kernel @k(%n: u32, %w: buffer) workgroup(64) {
            %id = local_index
            %by_n: u32 = if (lt.u32 %n, 3) {
                yield 1
            } else {
                yield 2
            }
            %by_id: u32 = if (lt.u32 %id, 3) {
                yield 1
            } else {
                yield 2
            }
            %same: u32 = if (lt.u32 %id, 3) {
                yield %n
            } else {
                yield %n
            }
            %one_way: u32 = if (lt.u32 %id, 3) {
                store.u32 %w[9], 1
                return
            } else {
                yield %n
            }
            store.u32 %w[%id], (add.u32 (add.u32 %by_n, %by_id), (add.u32 %same, %one_way))
        }",
        &[("by_n", Launch), ("by_id", Varying), ("same", Launch), ("one_way", Launch)],
    );
}

#[test]
fn loops() {
    levels(
        "kernel @k(%n: u32, %w: buffer) workgroup(64) {
            %id = local_index
            %end: u32 = loop (%k: u32 = 0, %late: u32 = 0, %v: u32 = 0) {
                if (ge.u32 %k, %n) {
                    break %late
                }
                continue (add.u32 %k, 1), %v, %id
            }
            %until: u32 = loop (%j: u32 = 0) {
                if (ge.u32 %j, %id) {
                    break %j
                }
                continue (add.u32 %j, 1)
            }
            %still: u32 = loop (%i: u32 = 0) {
                %next = add.u32 %i, 1
                while (lt.u32 %next, %n) next %next
            }
            store.u32 %w[%id], (add.u32 %end, (add.u32 %until, %still))
        }",
        &[("k", Launch), ("v", Varying), ("late", Varying), ("end", Varying), ("until", Varying), ("still", Launch)],
    );
}

#[test]
fn nothing_is_assumed_of_a_called_function() {
    levels(
        "fn @f(%x: u32) -> u32 {
            %y = add.u32 %x, 1
            return %y
        }",
        &[("x", Varying), ("y", Varying)],
    );
}

#[test]
fn calls_give_what_the_function_is_made_of() {
    levels(
        "fn @group() -> u32 {
            return (and.u32 (workgroup_id.x), 1)
        }
        fn @through(%x: u32) -> u32 {
            return (add.u32 %x, (call @group()))
        }
        fn @own() -> u32 {
            return (local_index)
        }
        fn @returned(%x: u32) -> u32 {
            if (eq.u32 (call @own()), %x) {
                return 1
            }
            return 0
        }
        fn @loaded(%m: buffer readonly, %x: u32) -> u32 {
            return (load.u32 %m[%x])
        }
        kernel @k(%n: u32, %r: buffer readonly) workgroup(64) {
            %group = call @group()
            %on = call @through(%n)
            %of_own = call @through((local_index))
            %own = call @own()
            %returned = call @returned(%n)
            %same = call @loaded(%r, %n)
            %differs = call @loaded(%r, %own)
            if (eq.u32 %on, 3) {
                barrier
            }
        }",
        &[
            ("group", Workgroup),
            ("on", Workgroup),
            ("of_own", Varying),
            ("own", Varying),
            ("returned", Varying),
            ("same", Launch),
            ("differs", Varying),
        ],
    );
}

/// What comes together again after a divergent part may wait for others.
#[test]
fn control_flow_comes_together_again() {
    let right = [
        "if (lt.u32 %id, 3) { store.u32 %w[0], 1 }
         barrier",
        "loop (%k: u32 = 0) { if (ge.u32 %k, %id) { break }
         continue (add.u32 %k, 1) }
         barrier",
        "loop (%k: u32 = 0) { if (ge.u32 %k, %n) { break }
         barrier
         if (lt.u32 %id, %k) { store.u32 %w[0], 1 }
         continue (add.u32 %k, 1) }",
        "if (eq.u32 (workgroup_id.x), 3) { return }
         barrier",
        "switch.u32 %n case 1 { barrier } default { }",
        "if (any (lt.u32 %id, 3)) { store.u32 %w[%id], (subgroup.add.u32 %id) }",
    ];
    let wrong = [
        "if (lt.u32 %id, 3) { return }
         barrier",
        "loop (%k: u32 = 0) { if (ge.u32 %k, %id) { break }
         barrier
         continue (add.u32 %k, 1) }",
        "loop (%k: u32 = 0) { if (ge.u32 %k, %n) { break }
         if (lt.u32 %id, %k) { continue (add.u32 %k, 2) }
         barrier
         continue (add.u32 %k, 1) }",
        "loop (%k: u32 = 0) { if (ge.u32 %k, %n) { if (lt.u32 %id, 5) { return }
         break }
         continue (add.u32 %k, 1) }
         barrier",
        "switch.u32 %id case 1 { barrier } default { }",
        "if (any (lt.u32 %id, 3)) { barrier }",
    ];
    for (bodies, passes) in [(right, true), (wrong, false)] {
        for body in bodies {
            let source = format!(
                "kernel @k(%n: u32, %w: buffer) workgroup(64) {{
                    %id = local_index
                    {body}
                }}"
            );
            let module = text::parse(SourceId::new(0), &source).unwrap_or_else(|d| panic!("{d:#?}\n{source}")).module;
            let found = verify(module).err().unwrap_or_default();
            assert_eq!(found.is_empty(), passes, "{source}\n{found:#?}");
        }
    }
}

#[test]
fn numbers_of_warpgroups() {
    let source = |fence: &str| {
        format!(
            "kernel @k(%n: u32, %w: buffer) workgroup(256) {{
            %id = local_index
            %x = local_id.x
            %sub = subgroup_id
            %by_shift = shr.u32 %id, 7
            %by_quotient = div.u32 %x, 256
            %by_subgroup = div.u32 %sub, 4
            %half = shr.u32 %id, 6
            %pair = shr.u32 %sub, 1
            %one = broadcast.u32 %by_shift, 0
            %first = broadcast.u32 %id, 0
            %offset = mad.u32 %by_shift, %n, 3
            {fence}
        }}"
        )
    };
    let weak = [("half", Varying), ("pair", Subgroup), ("first", Subgroup)];
    levels(&source("wgmma.fence"), &weak);
    let strong = ["by_shift", "by_quotient", "by_subgroup", "one", "offset"].map(|name| (name, Warpgroup));
    levels(&source("wgmma.fence"), &strong);
    // Elsewhere `local_index` says nothing about subgroups.
    levels(&source(""), &weak);
    levels(&source(""), &[("by_shift", Varying), ("by_subgroup", Subgroup), ("one", Subgroup)]);
}
