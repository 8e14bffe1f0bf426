//! Layouts, globals, cells and forks: ids that refer to something, fields of the right number and types, tokens that only a join
//! takes.

use super::names;
use super::structure::Context;
use crate::function::{Def, Inst, InstId, Module, ValueId};
use crate::groups::{aggregates, arithmetic, control, masks, memory, of_kernels, tasks};
use crate::heap::{FIELDS, Layout};
use crate::ops::{Op, Pattern};
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};

/// Checks the tables of layouts and globals.
pub(super) fn tables(module: &Module, found: &mut Vec<Diagnostic>) {
    super::repeated(module.layouts.iter().map(|l| (&l.name, l.span)), "the layout ", found);
    super::repeated(module.globals.iter().map(|g| (&g.name, g.span)), "the global ", found);
    for layout in module.layouts.iter() {
        for (i, ty) in layout.fields.iter().enumerate().filter(|(_, ty)| !FIELDS.contains(ty)) {
            let message = format!("field {i} of `@{}` is `{ty}`, which no cell holds", layout.name);
            let hint = "fields are `term`, `u32`, `i32` or `f32`";
            found.push(Diagnostic::new(Code::IrHeap, layout.span, message).hint(hint));
        }
    }
    for global in module.globals.iter() {
        let hint = "a global is computed by a function without parameters that gives one `term`";
        let Some(f) = module.functions.get(global.function) else {
            let message = format!("the global `@{}` names function {}", global.name, global.function.index());
            found.push(Diagnostic::new(Code::IrHeap, global.span, message).hint(hint));
            continue;
        };
        if f.launch.is_some() || !f.params.is_empty() || f.results != [Type::Term] {
            let message = format!("`@{}` cannot compute the global `@{}`", f.name, global.name);
            let diagnostic = Diagnostic::new(Code::IrHeap, global.span, message);
            found.push(diagnostic.label(f.span, "defined here").hint(hint));
        }
    }
}

/// Checks an instruction whose operands the row lets pass.
pub(super) fn check(cx: &mut Context<'_>, id: InstId, inst: &Inst) {
    tokens(cx, id, inst);
    match inst.op {
        Op::CellNew | Op::CellGet | Op::CellOpen | Op::CellFill | Op::ChainGrow => {
            // That it is absent is said where attributes are looked at.
            let Some(id) = inst.cell() else { return };
            match cx.module.layouts.get(id) {
                Some(layout) => cell(cx, inst, layout),
                None => no_row(cx, inst, &format!("there is no layout {}", id.index())),
            }
        }
        Op::GlobalGet => {
            let Some(id) = inst.global() else { return };
            if cx.module.globals.get(id).is_none() {
                no_row(cx, inst, &format!("there is no global {}", id.index()));
            }
        }
        Op::CellLayout
        | Op::CellFree
        | Op::ChainNew
        | Op::ChainEnd
        | Op::TermShare
        | Op::TermDrop
        | Op::TermPack
        | Op::TermTag
        | Op::TermPayload
        | arithmetic!()
        | of_kernels!()
        | crate::tile_operations!()
        | memory!()
        | control!()
        | masks!()
        | aggregates!()
        | tasks!() => {}
    }
}

fn no_row(cx: &mut Context<'_>, inst: &Inst, message: &str) {
    cx.report(Code::IrHeap, inst, message, "the module that built the instruction has lost it");
}

fn cell(cx: &mut Context<'_>, inst: &Inst, layout: &Layout) {
    match inst.op {
        Op::CellNew => fields(cx, inst, layout, &inst.operands, "takes"),
        Op::CellFill => fields(cx, inst, layout, inst.operands.get(1..).unwrap_or(&[]), "takes"),
        Op::CellOpen => fields(cx, inst, layout, inst.results.get(1..).unwrap_or(&[]), "gives"),
        Op::CellGet => match layout.fields.get(inst.field() as usize) {
            None => {
                let fields = names::count(layout.fields.len(), "field");
                let message = format!("`@{}` has {fields}, and no field {}", layout.name, inst.field());
                cx.report(Code::IrHeap, inst, message, "fields are counted from 0");
            }
            Some(ty) if inst.ty != Some(*ty) => {
                let message = format!("field {} of `@{}` is `{ty}`", inst.field(), layout.name);
                cx.report(Code::IrHeap, inst, message, &format!("write `{}.{ty}`", inst.op.name()));
            }
            Some(_) => {}
        },
        Op::ChainGrow => link(cx, inst, layout),
        other => unreachable!("`{}` has no layout", other.name()),
    }
}

/// The cell that a chain grows by is new, so nobody else has it, and what stands in the field that is open then is nobody's.
fn link(cx: &mut Context<'_>, inst: &Inst, layout: &Layout) {
    let field = inst.field() as usize;
    if layout.fields.get(field) != Some(&Type::Term) {
        let message = format!("`@{}` has no field {field} that is a `term`", layout.name);
        return cx.report(Code::IrHeap, inst, &message, "the field that is open holds a term later");
    }
    let cell = inst.operands[2];
    let made = match cx.function.values[cell].def {
        Def::Result(made, _) => Some(&cx.function.insts[made]),
        _not_made_here => None,
    };
    let made = made.filter(|made| matches!(made.op, Op::CellNew | Op::CellFill) && made.cell() == inst.cell());
    let Some(made) = made else {
        let message = format!("{} is not a cell `@{}` that this function has made", cx.name(cell), layout.name);
        let hint = "give what `cell.new` or `cell.fill` gives";
        return cx.blame(Code::IrHeap, inst, cell, message, hint);
    };
    let first = usize::from(made.op == Op::CellFill);
    let is_word = made.operands.get(first + field).is_some_and(|open| match cx.function.values[*open].def {
        Def::Result(word, _) => cx.function.insts[word].op == Op::TermPack,
        _not_made_here => false,
    });
    if !is_word {
        let message = format!("field {field} of {} is not open", cx.name(cell));
        let hint = "make the cell with a word of `term.pack` there: what the field held would be nobody's";
        cx.blame(Code::IrHeap, inst, cell, message, hint);
    }
}

fn fields(cx: &mut Context<'_>, inst: &Inst, layout: &Layout, values: &[ValueId], verb: &str) {
    let name = inst.op.name();
    if values.len() != layout.fields.len() {
        let fields = names::count(layout.fields.len(), "field");
        let message = format!("`@{}` has {fields}, but `{name}` {verb} {} here", layout.name, values.len());
        let diagnostic = Diagnostic::new(Code::IrHeap, inst.span, message).label(layout.span, "defined here");
        return cx.found.push(diagnostic.hint("one value stands for each field, in order"));
    }
    for (i, (value, ty)) in values.iter().zip(&layout.fields).enumerate() {
        let found = cx.ty(*value);
        if found != *ty {
            let message = format!("{} is `{found}`, but field {i} of `@{}` is `{ty}`", cx.name(*value), layout.name);
            cx.blame(Code::IrHeap, inst, *value, message, "convert it, or change the layout");
        }
    }
}

/// A forked call is joined as what it is, where it was forked, and given to nothing else.
fn tokens(cx: &mut Context<'_>, id: InstId, inst: &Inst) {
    let joins = inst.op == Op::Join;
    for operand in inst.operands.iter().filter(|v| cx.function.ty(**v) == Type::Token) {
        let fork = match cx.function.values[*operand].def {
            Def::Result(fork, _) if cx.function.insts[fork].op == Op::Fork => Some(fork),
            _other_token => None,
        };
        let wrong = match fork.map(|fork| (fork, &cx.function.insts[fork])) {
            None if joins => Some(("is not a forked call", "join what `fork` gives")),
            None => None,
            Some(_) if !joins => Some(("is a forked call, which can only be joined", "join it, and use its results")),
            Some((_, fork)) if fork.callee() != inst.callee() => {
                Some(("is a fork of another function", "name the function that was forked"))
            }
            Some((fork, _)) if cx.form.region_of(fork) != cx.form.region_of(id) => {
                Some(("was forked in another region", "join it in the region that forked it"))
            }
            Some(_) => None,
        };
        if let Some((what, hint)) = wrong {
            let message = format!("{} {what}", cx.name(*operand));
            cx.blame(Code::IrJoin, inst, *operand, message, hint);
        }
    }
    // Tokens of mbarriers and of forks are one type: no operation but these two makes or takes those of forks.
    debug_assert!(!joins || inst.op.row().operands == [Pattern::Token]);
}
