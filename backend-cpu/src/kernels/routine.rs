//! Functions that kernels call. They reach no memory of the launch and wait for nobody: what does is inlined into kernels.

use super::Compiling;
use super::context;
use super::lanes::broken;
use crate::translate::{Callee, Form, Result, Translator, machine_type};
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value, types};
use cranelift_frontend::FunctionBuilder;
use girih_ir::{Function, FunctionId, Inst, InstId, Op, ValueId};

/// Where a called function runs.
pub(crate) struct Routine {
    context: Option<Value>,
    /// The invocation's number, its position and that of its workgroup.
    position: Option<[Value; POSITIONS]>,
}

/// How many numbers say where an invocation is.
pub(super) const POSITIONS: usize = 7;

impl<'a> Form<'a> for Routine {
    fn barrier(t: &mut Translator<'a, '_, Self>, _: InstId, _: usize) -> Result<()> {
        Err(broken(t.function, "a barrier in a function that is called"))
    }

    fn position(t: &mut Translator<'a, '_, Self>, inst: &Inst) -> Result<Value> {
        let (Some(position), Some(context)) = (t.form.position, t.form.context) else {
            return Err(broken(t.function, "a position that is not given to it"));
        };
        let [lane, x, y, z, ids @ ..] = position;
        let (dim, local) = (inst.dim() as usize, [x, y, z]);
        let mut word = |word: usize| {
            let flags = MemFlags::trusted().with_readonly().with_can_move();
            t.b.ins().load(types::I32, flags, context, 8 * (word + dim) as i32)
        };
        Ok(match inst.op {
            Op::GlobalId => {
                let size = word(context::SIZE);
                let start = t.b.ins().imul(ids[dim], size);
                t.b.ins().iadd(start, local[dim])
            }
            Op::LocalId => local[dim],
            Op::LocalIndex => lane,
            Op::WorkgroupId => ids[dim],
            Op::NumWorkgroups => word(context::GRID),
            Op::WorkgroupSize => word(context::SIZE),
            _no_position => return Err(broken(t.function, "an operation that is no position")),
        })
    }

    fn leave(t: &mut Translator<'a, '_, Self>, results: &[Value]) -> Result<()> {
        t.b.ins().return_(results);
        Ok(())
    }

    fn hidden(t: &mut Translator<'a, '_, Self>, callee: FunctionId) -> Result<Vec<Value>> {
        let Some(callee) = t.callees.get(callee).copied().flatten() else { return Ok(vec![]) };
        let mut hidden = vec![];
        if callee.context {
            hidden.push(t.form.context.ok_or_else(|| broken(t.function, "it lacks the context of its callee"))?);
        }
        if callee.position {
            let position = t.form.position;
            hidden.extend(position.ok_or_else(|| broken(t.function, "it lacks the position of its callee"))?);
        }
        Ok(hidden)
    }

    fn outside(t: &mut Translator<'a, '_, Self>, _: &Inst, _: ValueId, _: Value, _: Value) -> Result<()> {
        Err(broken(t.function, "an access to memory in a function that is called"))
    }

    /// A launch that is to end makes endless loops of callees give zeros; the kernel's own next loop then ends it.
    fn poll(t: &mut Translator<'a, '_, Self>, repeats: &Inst) -> Result<()> {
        if t.ends_soon(repeats) {
            return Ok(());
        }
        let context = t.form.context.ok_or_else(|| broken(t.function, "a loop without the launch's context"))?;
        let flags = MemFlags::trusted();
        let stop = t.b.ins().load(types::I64, flags.with_readonly().with_can_move(), context, 8 * context::STOP as i32);
        let stop = t.b.ins().atomic_load(types::I32, flags, stop);
        let (leave, go_on) = (t.b.create_block(), t.b.create_block());
        t.b.set_cold_block(leave);
        t.b.ins().brif(stop, leave, &[], go_on, &[]);
        t.b.seal_block(leave);
        t.b.seal_block(go_on);
        t.b.switch_to_block(leave);
        let mut zeros = vec![];
        for ty in &t.function.results {
            let machine = machine_type(*ty).ok_or_else(|| broken(t.function, "a result has no machine type"))?;
            zeros.push(match machine {
                types::F32 => t.b.ins().f32const(0.0),
                types::F64 => t.b.ins().f64const(0.0),
                integer if integer.is_int() => t.b.ins().iconst(integer, 0),
                _vector => return Err(broken(t.function, "a vector crosses a call")),
            });
        }
        t.b.ins().return_(&zeros);
        t.b.switch_to_block(go_on);
        Ok(())
    }
}

/// Writes a function that is called.
pub(super) fn write(compiling: &mut Compiling<'_>, function: &Function, callee: Callee) -> Result<()> {
    let Compiling { context, builder, module, callees } = compiling;
    let mut b = FunctionBuilder::new(&mut context.func, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let given = b.block_params(entry).to_vec();
    let (hidden, given) = given.split_at(usize::from(callee.context) + if callee.position { POSITIONS } else { 0 });
    let (context, position) = hidden.split_at(usize::from(callee.context));
    let form = Routine { context: context.first().copied(), position: position.try_into().ok() };
    let mut t = Translator::new(b, function, &mut **module, callees, form);
    function.params.iter().zip(given).for_each(|(param, value)| t.set(*param, *value));
    t.body()?;
    t.finish();
    Ok(())
}
