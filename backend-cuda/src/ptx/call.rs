//! Functions and their calls. Arguments and results are bytes in parameter space, one parameter each way for results: register after
//! register, each at a multiple of its size.

use super::registers::{Class, Reg, shape};
use super::render::{Renderer, ptx};
use girih_ir::{Function, Inst, Type, ValueId};

/// A register's place among others in parameter space.
#[derive(Clone, Copy, Debug)]
struct Slot {
    class: Class,
    byte: u32,
}

/// The places of values of these types, and how many bytes they take.
fn slots(types: impl IntoIterator<Item = Type>) -> (Vec<Slot>, u32) {
    let (mut slots, mut end) = (vec![], 0u32);
    for ty in types {
        let (class, count) = shape(ty);
        for _ in 0..count {
            let byte = end.next_multiple_of(width(class));
            slots.push(Slot { class, byte });
            end = byte + width(class);
        }
    }
    (slots, end)
}

/// Bytes of a register in parameter space; a predicate is a word there.
fn width(class: Class) -> u32 {
    match class {
        Class::Pred | Class::B32 => 4,
        Class::B16 => 2,
        Class::B64 => 8,
    }
}

/// The first line of a function.
pub(super) fn signature(function: &Function, name: &str) -> String {
    let (_, results) = slots(function.results.iter().copied());
    let (_, params) = slots(function.params.iter().map(|v| function.ty(*v)));
    let list = |bytes: u32, name: &str| match bytes {
        0 => String::new(),
        bytes => format!("(.param .align 8 .b8 {name}[{bytes}]) "),
    };
    let params = if params == 0 { "()".into() } else { list(params, "arguments") };
    format!(".func {}{name}{}", list(results, "results"), params.trim_end())
}

impl Renderer<'_> {
    /// Reads a function's parameters.
    pub fn load_arguments(&mut self) {
        let params = self.function.params.clone();
        self.take("arguments", &params);
    }
    /// Writes a function's results.
    pub fn store_results(&mut self, values: &[ValueId]) {
        self.give("results", values);
    }

    /// `call`.
    pub fn call(&mut self, inst: &Inst) {
        let Some(callee) = inst.callee().map(|id| &self.module.functions[id]) else {
            return self.refuse(inst, "it calls nothing");
        };
        let (_, arguments) = slots(inst.operands.iter().map(|v| self.function.ty(*v)));
        let (_, results) = slots(callee.results.iter().copied());
        let name = super::function_name(callee);
        self.text.line(format_args!("  {{"));
        for (bytes, list) in [(arguments, "given"), (results, "got")] {
            if bytes > 0 {
                ptx!(self, ".param .align 8 .b8 {list}[{bytes}]");
            }
        }
        self.give("given", &inst.operands);
        let got = if results > 0 { "(got), " } else { "" };
        let given = if arguments > 0 { ", (given)" } else { "" };
        ptx!(self, "call {got}{name}{given}");
        self.take("got", &inst.results);
        self.text.line(format_args!("  }}"));
    }

    /// Writes values to parameter space.
    fn give(&mut self, list: &str, values: &[ValueId]) {
        let types: Vec<Type> = values.iter().map(|v| self.function.ty(*v)).collect();
        let (slots, _) = slots(types);
        let mut parts = vec![];
        for value in values {
            match self.function.as_constant(*value) {
                Some(_) => parts.push(self.reg(*value)),
                None => parts.extend(self.home(*value).regs()),
            }
        }
        for (slot, part) in slots.iter().zip(parts) {
            let (ty, part) = self.as_number(part);
            ptx!(self, "st.param.{ty} [{list}+{}], {part}", slot.byte);
        }
    }

    /// A register as parameter space can hold it.
    fn as_number(&mut self, reg: Reg) -> (&'static str, Reg) {
        if reg.class != Class::Pred {
            return (reg.class.ty(), reg);
        }
        let word = self.fresh(Class::B32);
        ptx!(self, "selp.b32 {word}, 1, 0, {reg}");
        (Class::B32.ty(), word)
    }

    /// Reads values from parameter space.
    fn take(&mut self, list: &str, values: &[ValueId]) {
        let types: Vec<Type> = values.iter().map(|v| self.function.ty(*v)).collect();
        let (slots, _) = slots(types);
        let homes: Vec<Reg> = values.iter().flat_map(|v| self.home(*v).regs()).collect();
        for (slot, to) in slots.iter().zip(homes) {
            if slot.class == Class::Pred {
                let word = self.fresh(Class::B32);
                ptx!(self, "ld.param.b32 {word}, [{list}+{}]", slot.byte);
                ptx!(self, "setp.ne.u32 {to}, {word}, 0");
            } else {
                ptx!(self, "ld.param.{} {to}, [{list}+{}]", slot.class.ty(), slot.byte);
            }
        }
    }
}
