//! Memories and accesses: how a memory may be declared, and whether an access has the memory's element type.

use super::names;
use super::structure::Context;
use crate::function::{Def, Inst, Memory, ValueId};
use crate::groups::{
    aggregates, all_positions, arithmetic, barriers, by_element, control, fragments, masks, mbarriers, memory,
    reductions, scans, shuffles, task_form, tile_accesses, tiles_without_memory, votes,
};
use crate::ops::{Op, Pattern};
use crate::types::{Scalar, ScalarSet, Space, Type};
use girih_base::diag::{Code, Diagnostic};

/// Largest alignment, in bytes.
const ALIGN: u32 = 4096;
/// Most bytes of one memory.
const BYTES: u64 = 1 << 28;

/// Checks the memories of a function.
pub(super) fn declarations(cx: &mut Context<'_>) {
    let function = cx.function;
    for memory in function.memories.iter() {
        let (name, place) = (cx.name(memory.value), function.span_of(memory.value));
        let mut wrong = |code, message: String, hint: &str| {
            cx.found.push(Diagnostic::new(code, place, message).hint(hint));
        };
        if function.ty(memory.value) != Type::Memory(memory.space) || memory.space == Space::Global {
            wrong(
                Code::IrMemory,
                format!("{name} is declared in a function, but not as shared or private memory"),
                "buffers are parameters",
            );
        }
        if !is_stored(memory.element) {
            let message = format!("{name} cannot have elements of type `{}`", memory.element);
            wrong(Code::IrMemory, message, "memory holds numbers and short vectors; keep `bool` as an integer");
        } else if !memory.align.is_power_of_two() || !(memory.element.bytes()..=ALIGN).contains(&memory.align) {
            let message = format!("{name} cannot be aligned to {} bytes", memory.align);
            let hint =
                format!("alignment is a power of two from {} (its element's size) to {ALIGN}", memory.element.bytes());
            wrong(Code::IrMemory, message, &hint);
        }
        if memory.group != 0 && memory.space == Space::Private {
            wrong(
                Code::IrMemory,
                format!("{name} is private memory and cannot share its place"),
                "`group` belongs to shared memory",
            );
        }
        if let Err((message, hint)) = length(cx, memory, &name) {
            cx.found.push(Diagnostic::new(Code::IrMemory, place, message).hint(hint));
        }
    }
}

fn is_stored(ty: Type) -> bool {
    match ty {
        Type::Scalar(s) => ScalarSet::STORED.has(s),
        Type::Vector(s, n) => Type::is_short_vector(s, n.into()),
        Type::Regs(..) | Type::Coop(..) | Type::Tile(_) | Type::Token | Type::Term | Type::Memory(_) => false,
    }
}

fn length(cx: &Context<'_>, memory: &Memory, name: &str) -> Result<(), (String, &'static str)> {
    let ty = cx.ty(memory.length);
    if ty != Type::U32 {
        return Err((format!("the length of {name} is `{ty}`, not `u32`"), "count its elements by a `u32`"));
    }
    match cx.function.values[memory.length].def {
        Def::Constant(0) => Err((format!("{name} has no elements"), "give it at least one")),
        Def::Constant(n) if n.saturating_mul(memory.element.bytes().into()) > BYTES => {
            Err((format!("{name} is larger than 256 MiB"), "use a buffer"))
        }
        Def::Constant(_) | Def::Specialisation(_) => Ok(()),
        // The host knows its arguments and what the `launch` region makes of them.
        Def::Param(_) | Def::Result(..) if memory.space == Space::Shared && cx.function.launch.is_some() => Ok(()),
        Def::Result(..) | Def::Param(_) | Def::Argument(..) | Def::Memory(_) => Err((
            format!("the length of {name} is not known when the kernel is launched"),
            "give a constant or a specialisation constant; shared memory of a kernel may also take a parameter",
        )),
    }
}

/// Checks the accesses of an instruction whose operands have the right types.
pub(super) fn access(cx: &mut Context<'_>, inst: &Inst) {
    let patterns = inst.op.row().operands;
    let mut handles =
        patterns.iter().zip(&inst.operands).filter(|(p, _)| matches!(p, Pattern::Memory(_))).map(|(_, v)| *v);
    let Some(first) = handles.next() else { return };
    for handle in std::iter::once(first).chain(handles.filter(|second| *second != first)) {
        if let Def::Memory(id) = cx.function.values[handle].def
            && let Some(memory) = cx.function.memories.get(id)
        {
            element(cx, inst, handle, memory);
        }
        // The first memory is the one that is written, if one is.
        if handle == first && inst.op.writes_memory() && cx.function.param_attrs(handle).readonly {
            let message = format!("{} writes {}, which is `readonly`", names::operation(inst), cx.name(handle));
            cx.report(Code::IrReadonly, inst, message, "leave `readonly` out of its parameter");
        }
    }
}

/// What an access reads or writes at once, if its type says that.
fn accessed(inst: &Inst) -> Option<(Scalar, u32)> {
    match inst.op {
        mbarriers!() => Some((Scalar::U64, 8)),
        Op::Wgmma => inst.ty.and_then(Type::element).map(|s| (s, wgmma_align(inst))),
        fragments!() => inst.ty.and_then(Type::element).map(|s| (s, s.bytes())),
        memory!() | Op::AsyncCopy | tile_accesses!() => inst.ty.and_then(|ty| Some((ty.element()?, ty.bytes()))),
        Op::AsyncCommit
        | Op::AsyncWait
        | Op::FenceAsync
        | Op::WgmmaFence
        | Op::WgmmaCommit
        | Op::WgmmaWait
        | all_positions!()
        | barriers!()
        | votes!()
        | shuffles!()
        | reductions!()
        | scans!()
        | control!()
        | arithmetic!()
        | aggregates!()
        | task_form!()
        | masks!()
        | by_element!()
        | tiles_without_memory!() => None,
    }
}

/// A matrix starts where the pattern of its swizzle starts.
fn wgmma_align(inst: &Inst) -> u32 {
    use crate::attrs::Attr;
    let swizzle = |a: &Attr| match a {
        Attr::MatrixA(m) | Attr::MatrixB(m) => Some(u32::from(m.swizzle)),
        _not_a_matrix => None,
    };
    (inst.attrs.iter().filter_map(swizzle).max().unwrap_or(0) * 8).max(16)
}

fn element(cx: &mut Context<'_>, inst: &Inst, handle: ValueId, memory: &Memory) {
    let Some((scalar, bytes)) = accessed(inst) else { return };
    let Some(declared) = memory.element.element() else { return };
    // A fragment may also be loaded from words that hold its elements.
    let words =
        inst.op == Op::CoopLoad && memory.space == Space::Shared && declared == Scalar::U32 && scalar.bytes() < 4;
    if scalar != declared && !words {
        let message =
            format!("{} reaches {}, whose elements are `{}`", names::operation(inst), cx.name(handle), memory.element);
        let hint = "shared and private memory is accessed as the scalar of its declaration; use `bitcast` on the value";
        cx.report(Code::IrMemory, inst, message, hint);
    } else if bytes > memory.align && memory.align >= memory.element.bytes() {
        let message = format!(
            "{} needs {} aligned to {bytes} bytes, it is aligned to {}",
            names::operation(inst),
            cx.name(handle),
            memory.align
        );
        cx.report(Code::IrMemory, inst, message, &format!("declare it with `align({bytes})`"));
    }
}
