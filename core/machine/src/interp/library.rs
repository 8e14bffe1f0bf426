//! The math library: operations of its class become calls of its routines before a program is made ready, so that the
//! interpreter computes what every device computes.
//!
//! Native functions (`exp.approx`) become the routine that they approximate, computed to the last place. The short floats go through
//! `f32`.

use girih_base::diag::Diagnostic;
use girih_ir::Builder;
use girih_ir::attrs::Attr;
use girih_ir::math;
use girih_ir::ops::{Class, Op};
use girih_ir::types::{Scalar, Type};
use girih_ir::{FunctionId, Inst, Module, ValueId};
use girih_lower::{Pass, Rewriter};

/// The operation of the library that an operation stands for, if it stands for one.
fn library_routine(op: Op) -> Option<Op> {
    let exact = op.row().approximates.unwrap_or(op);
    matches!(exact.row().class, Class::Library(_)).then_some(exact)
}

/// Replaces the library's operations of a module by calls of its routines, which are added at the end.
pub(crate) fn link(module: &mut Module) -> Result<(), Diagnostic> {
    let needed = module.functions.iter().any(|f| f.insts.iter().any(|inst| library_routine(inst.op).is_some()));
    if !needed {
        return Ok(());
    }
    let own = module.functions.len() as u32;
    for function in module.functions.iter_mut() {
        *function = Rewriter::run(function, &mut Link { first: own })?;
    }
    for function in math::library().functions.iter() {
        let mut function = function.clone();
        for inst in function.insts.iter_mut() {
            if let Some(callee) = inst.callee() {
                inst.set(Attr::Callee(FunctionId::new(own + callee.index() as u32)));
            }
        }
        module.functions.push(function);
    }
    Ok(())
}

struct Link {
    /// The number of the library's first function.
    first: u32,
}

impl Link {
    /// The routine on one scalar of the type.
    fn call(&self, out: &mut Builder, op: Op, ty: Scalar, operands: &[ValueId]) -> Option<ValueId> {
        let routine = math::library().find(math::routine(op, Scalar::F32)?)?;
        let callee = FunctionId::new(self.first + routine.index() as u32);
        let mut wide = |v: &ValueId| if ty == Scalar::F32 { *v } else { out.op(Op::Convert, Scalar::F32, &[*v]) };
        let operands: Vec<ValueId> = operands.iter().map(&mut wide).collect();
        let result = *out.call(callee, &[Type::F32], &operands).first()?;
        Some(if ty == Scalar::F32 { result } else { out.op(Op::Convert, ty, &[result]) })
    }
}

impl Pass for Link {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let (Some(op), Some(ty)) = (library_routine(inst.op), inst.ty) else { return Ok(None) };
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let element = inst.element();
        if ty.shape().is_some() {
            let body = |out: &mut Builder, elements: &[ValueId]| {
                self.call(out, op, element, elements).into_iter().collect::<Vec<ValueId>>()
            };
            return Ok(Some(vec![r.out.by_element(Op::TileMap, &[], &operands, ty.shape(), body)]));
        }
        if ty.lanes() == 1 {
            return Ok(self.call(&mut r.out, op, element, &operands).map(|v| vec![vec![v]]));
        }
        let mut parts = vec![];
        for lane in 0..ty.lanes() {
            let position = r.out.u32(lane);
            let operands: Vec<ValueId> =
                operands.iter().map(|v| r.out.op(Op::Extract, element, &[*v, position])).collect();
            let Some(part) = self.call(&mut r.out, op, element, &operands) else { return Ok(None) };
            parts.push(part);
        }
        Ok(Some(vec![vec![r.out.op(Op::Vector, ty, &parts)]]))
    }
}
