//! SPIR-V that a driver computes exactly as it is written.
//!
//! naga's writer leaves drivers free to contract `a * b + c`. This pass decorates float operations with `NoContraction`, makes `min` and
//! `max` of floats return the operand that is a number, fills fragments, and tells the driver which buffers alias: a buffer that is
//! bound under several views aliases itself, one that the kernel has for itself does not.
//!
//! Fragments of short numbers are loaded from arrays of vectors of words, for which naga has no expression: it is shown an array of triples instead,
//! a shadow, right after the array that is meant.

use crate::shader::Kernel;
use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand, load_words};
use rspirv::spirv::{Decoration, Op, StorageClass, Word};
use std::collections::{HashMap, HashSet};

/// `FMin`, `NMin`, `FMax`, `NMax` of the extended instructions `GLSL.std.450`.
const NUMBER_OF: [(Word, Word); 2] = [(37, 79), (40, 80)];

/// `PackHalf2x16` of the same instructions.
const PACK_HALVES: Word = 58;

/// Makes a module strict. `kernels` are its entry points, in order.
pub fn run(words: &[u32], kernels: &[Kernel]) -> Result<Vec<u32>, String> {
    let mut module = load_words(words).map_err(|e| e.to_string())?;
    let mut decorated = vec![];
    let packed = packed_halves(&module);
    for function in &mut module.functions {
        for inst in function.blocks.iter_mut().flat_map(|b| &mut b.instructions) {
            let is_packed = inst.result_id.is_some_and(|id| packed.contains(&id));
            if is_contractible(inst.class.opcode) && !is_packed {
                decorated.extend(inst.result_id.map(|id| (id, Decoration::NoContraction)));
            }
            prefer_numbers(inst);
        }
    }
    fill_fragments(&mut module);
    lift_shadows(&mut module)?;
    decorated.extend(aliasing(&module, kernels));
    module.annotations.extend(decorated.into_iter().map(|(id, decoration)| {
        let operands = vec![Operand::IdRef(id), Operand::Decoration(decoration)];
        Instruction::new(Op::Decorate, None, None, operands)
    }));
    Ok(module.assemble())
}

/// Whether drivers may merge the operation with others, or leave out the rounding between two of them.
fn is_contractible(op: Op) -> bool {
    matches!(
        op,
        Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::FRem
            | Op::FMod
            | Op::FNegate
            | Op::VectorTimesScalar
            | Op::Dot
            | Op::FConvert
            | Op::ConvertSToF
            | Op::ConvertUToF
    )
}

/// The numbers of 16 bits that are widened to be packed again, which naga says where their bits are meant. Widened exactly they lose the
/// payload of NaN; and what a driver leaves out before such a conversion, the packing does again.
fn packed_halves(module: &Module) -> HashSet<Word> {
    let all = || module.functions.iter().flat_map(|function| function.all_inst_iter());
    let is_half = |ty: Word| {
        let is = |i: &Instruction| i.result_id == Some(ty) && i.class.opcode == Op::TypeFloat;
        module.types_global_values.iter().any(|i| is(i) && i.operands[0] == Operand::LiteralBit32(16))
    };
    let packs = |i: &&Instruction| {
        i.class.opcode == Op::ExtInst && i.operands.get(1) == Some(&Operand::LiteralExtInstInteger(PACK_HALVES))
    };
    let pairs: HashSet<Word> = all().filter(packs).filter_map(|i| i.operands.get(2).and_then(id)).collect();
    if pairs.is_empty() {
        return HashSet::new();
    }
    let types: HashMap<Word, Word> = all().filter_map(|i| Some((i.result_id?, i.result_type?))).collect();
    let widened = all().filter(|i| i.class.opcode == Op::FConvert);
    let from_half = |i: &Instruction| {
        let from = i.operands.first().and_then(id).and_then(|from| types.get(&from));
        i.result_id.filter(|_| from.is_some_and(|ty| is_half(*ty)))
    };
    let widened: HashSet<Word> = widened.filter_map(from_half).collect();
    let low = all().filter(|i| i.result_id.is_some_and(|id| pairs.contains(&id)));
    low.filter_map(|i| i.operands.first().and_then(id)).filter(|low| widened.contains(low)).collect()
}

/// `FMin` of a number and NaN may be either; `NMin` is the number.
fn prefer_numbers(inst: &mut Instruction) {
    if inst.class.opcode != Op::ExtInst {
        return;
    }
    if let Some(Operand::LiteralExtInstInteger(which)) = inst.operands.get_mut(1)
        && let Some((_, exact)) = NUMBER_OF.iter().find(|(loose, _)| loose == which)
    {
        *which = *exact;
    }
}

/// A fragment of zeros times a scalar stands for the fragment that is filled with the scalar, which naga cannot say.
fn fill_fragments(module: &mut Module) {
    let is = |op: Op| move |i: &&Instruction| i.class.opcode == op;
    let globals = &module.types_global_values;
    let fragments: Vec<Word> =
        globals.iter().filter(is(Op::TypeCooperativeMatrixKHR)).filter_map(|i| i.result_id).collect();
    let zeros: Vec<Word> = (globals.iter().filter(is(Op::ConstantNull)))
        .filter(|i| i.result_type.is_some_and(|ty| fragments.contains(&ty)))
        .filter_map(|i| i.result_id)
        .collect();
    for inst in module.functions.iter_mut().flat_map(|f| &mut f.blocks).flat_map(|b| &mut b.instructions) {
        let zero = inst.operands.first().and_then(id).is_some_and(|id| zeros.contains(&id));
        if inst.class.opcode == Op::MatrixTimesScalar && zero {
            let scalar = inst.operands[1].clone();
            *inst = Instruction::new(Op::CompositeConstruct, inst.result_type, inst.result_id, vec![scalar]);
        }
    }
}

/// Puts arrays of words where their shadows stand.
fn lift_shadows(module: &mut Module) -> Result<(), String> {
    let shared = |i: &Instruction| {
        let class = matches!(i.operands.first(), Some(Operand::StorageClass(StorageClass::Workgroup)));
        class && matches!(i.class.opcode, Op::Variable | Op::TypePointer)
    };
    let globals = &module.types_global_values;
    let by_id = |id: Word| globals.iter().find(|i| i.result_id == Some(id));
    // The type of the elements of a variable's array.
    let element = |variable: &Instruction| {
        let array = by_id(variable.result_type?)?.operands.get(1).and_then(id)?;
        by_id(array)?.operands.first().and_then(id)
    };
    let is_triple = |ty: Word| {
        let Some(vector) = by_id(ty).filter(|i| i.class.opcode == Op::TypeVector) else { return false };
        let scalar = vector.operands.first().and_then(id).and_then(by_id);
        let half =
            scalar.is_some_and(|s| s.class.opcode == Op::TypeFloat && s.operands[0] == Operand::LiteralBit32(16));
        half && vector.operands.get(1) == Some(&Operand::LiteralBit32(3))
    };
    // The shadow, what it stands for, and the type of pointers to that one's elements.
    let mut meant: HashMap<Word, (Word, Word)> = HashMap::new();
    let mut before: Option<&Instruction> = None;
    for variable in globals.iter().filter(|i| i.class.opcode == Op::Variable && shared(i)) {
        let stands = element(variable).is_some_and(is_triple);
        if let (true, Some(shadow), Some(array)) = (stands, variable.result_id, before) {
            let of = element(array).ok_or("an array without elements")?;
            let to_it = |i: &&Instruction| {
                i.class.opcode == Op::TypePointer && shared(i) && i.operands.get(1).and_then(id) == Some(of)
            };
            let pointer =
                globals.iter().find(to_it).and_then(|i| i.result_id).ok_or("no pointer to an array's elements")?;
            meant.insert(shadow, (array.result_id.unwrap_or(0), pointer));
        } else {
            before = Some(variable);
        }
    }
    if meant.is_empty() {
        return Ok(());
    }
    for inst in module.functions.iter_mut().flat_map(|f| &mut f.blocks).flat_map(|b| &mut b.instructions) {
        let found = inst.operands.first().and_then(id).and_then(|base| meant.get(&base));
        if let (Op::AccessChain | Op::InBoundsAccessChain, Some((array, pointer))) = (inst.class.opcode, found) {
            inst.operands[0] = Operand::IdRef(*array);
            inst.result_type = Some(*pointer);
        }
    }
    let shadow = |operand: &Operand| id(operand).is_some_and(|id| meant.contains_key(&id));
    module.types_global_values.retain(|i| i.result_id.is_none_or(|id| !meant.contains_key(&id)));
    module.entry_points.iter_mut().for_each(|entry| entry.operands.retain(|operand| !shadow(operand)));
    module.annotations.retain(|i| !i.operands.first().is_some_and(shadow));
    module.debug_names.retain(|i| !i.operands.first().is_some_and(shadow));
    Ok(())
}

/// What is known about the aliasing of each binding.
fn aliasing(module: &Module, kernels: &[Kernel]) -> Vec<(Word, Decoration)> {
    let storage: Vec<Word> = (module.types_global_values.iter())
        .filter(|i| i.class.opcode == Op::Variable)
        .filter(|i| matches!(i.operands.first(), Some(Operand::StorageClass(StorageClass::StorageBuffer))))
        .filter_map(|i| i.result_id)
        .collect();
    let binding = |i: &Instruction| match &i.operands[..] {
        [Operand::IdRef(id), Operand::Decoration(Decoration::Binding), Operand::LiteralBit32(n)] => Some((*id, *n)),
        _ => None,
    };
    let bindings: HashMap<Word, u32> = module.annotations.iter().filter_map(binding).collect();
    let entries = module.entry_points.iter().filter_map(|e| e.operands.get(1).and_then(id));
    let mut found = vec![];
    for (entry, kernel) in entries.zip(kernels) {
        let Some(function) = module.functions.iter().find(|f| f.def_id() == Some(entry)) else { continue };
        let mut used: Vec<Word> = function.all_inst_iter().flat_map(|i| i.operands.iter().filter_map(id)).collect();
        used.sort_unstable();
        used.dedup();
        for variable in used.into_iter().filter(|v| storage.contains(v)) {
            let layout = &kernel.layout.bindings;
            let Some(binding) = bindings.get(&variable).and_then(|n| layout.get(*n as usize)) else { continue };
            let views = layout.iter().filter(|b| b.param == binding.param).count();
            if views > 1 && !binding.readonly {
                found.push((variable, Decoration::Aliased));
            } else if binding.noalias || binding.readonly {
                found.push((variable, Decoration::Restrict));
            }
        }
    }
    found
}

fn id(operand: &Operand) -> Option<Word> {
    match operand {
        Operand::IdRef(id) => Some(*id),
        _ => None,
    }
}
