//! Functions that are called by name: Bend's mathematics, brought into the module as they are needed.

use super::super::math;
pub use super::super::math::MathFunction;
use girih_ir::attrs::Attr;
use girih_ir::{Builder, FunctionId, Module, Type, ValueId};
use std::collections::HashMap;

/// The functions of the library that a program calls. Until [`finish`](Library::finish) they are known by numbers far above those of the module's own.
#[derive(Debug, Default)]
pub struct Library {
    wanted: Vec<FunctionId>,
}

/// The first number of the library's functions while a module is written.
const FIRST: u32 = 1 << 24;

impl Library {
    /// Calls a function of floats.
    pub fn call(&mut self, builder: &mut Builder, function: MathFunction, operands: &[ValueId]) -> ValueId {
        self.named(builder, math::function(function), operands)
    }
    /// The power of an `f32` to one half.
    pub fn root(&mut self, builder: &mut Builder, value: ValueId) -> ValueId {
        self.named(builder, math::ROOT, &[value])
    }
    /// Rounds an `f32` to the nearest `f24`.
    pub fn round24(&mut self, builder: &mut Builder, value: ValueId) -> ValueId {
        self.named(builder, math::ROUND24, &[value])
    }

    fn named(&mut self, builder: &mut Builder, name: &str, operands: &[ValueId]) -> ValueId {
        let Some(id) = math::library().find(name) else {
            unreachable!("`{name}` stands in the library: its tests look")
        };
        if !self.wanted.contains(&id) {
            self.wanted.push(id);
        }
        builder.call(FunctionId::new(FIRST + id.index() as u32), &[Type::F32], operands)[0]
    }

    /// Adds what was called, and what that calls, to the module.
    pub fn finish(self, module: &mut Module) {
        let mut places: HashMap<FunctionId, FunctionId> = HashMap::new();
        let mut wanted = self.wanted;
        let mut own = 0;
        while own < wanted.len() {
            let function = math::library().functions[wanted[own]].clone();
            for callee in function.insts.iter().filter_map(|inst| inst.callee()) {
                if !wanted.contains(&callee) {
                    wanted.push(callee);
                }
            }
            places.insert(wanted[own], module.functions.push(function));
            own += 1;
        }
        let first_of_library = module.functions.len() - own;
        for (at, function) in module.functions.iter_mut().enumerate() {
            for inst in function.insts.iter_mut() {
                let Some(callee) = inst.callee() else { continue };
                let named = if at >= first_of_library {
                    Some(callee)
                } else {
                    (callee.index() as u32).checked_sub(FIRST).map(FunctionId::new)
                };
                if let Some(place) = named.and_then(|name| places.get(&name)) {
                    inst.set(Attr::Callee(*place));
                }
            }
        }
    }
}
