//! One invocation of a kernel, run as it is written: enough to compare a program with its legal form where no other
//! invocation matters.

use crate::ir::ops::Class;
use crate::ir::{Function, FunctionId, Inst, Module, Op, RegionId, Scalar, Type, ValueId, eval, math};
use std::collections::HashMap;

/// A value: the bits of its lanes, or a memory.
type Bits = Vec<u64>;

/// Runs a kernel; buffers are changed.
pub fn run(module: &Module, kernel: FunctionId, buffers: &mut Vec<Vec<u8>>, numbers: &[u64]) {
    let function = &module.functions[kernel];
    let mut machine = Machine { module, memories: std::mem::take(buffers) };
    let (mut buffer, mut number) = (0.., numbers.iter());
    let operands: Vec<Bits> = function
        .params
        .iter()
        .map(|p| match function.ty(*p) {
            Type::Memory(_) => vec![buffer.next().unwrap()],
            _ => vec![*number.next().expect("an argument for each parameter")],
        })
        .collect();
    machine.call(function, operands);
    *buffers = machine.memories;
    buffers.truncate(buffer.start as usize);
}

struct Machine<'a> {
    module: &'a Module,
    memories: Vec<Vec<u8>>,
}

struct Frame<'a> {
    function: &'a Function,
    values: HashMap<ValueId, Bits>,
}

/// How a region ended.
enum End {
    Yield(Vec<Bits>),
    Break(Vec<Bits>),
    Continue(Vec<Bits>),
    While(bool, Vec<Bits>),
    Return(Vec<Bits>),
}

impl Frame<'_> {
    fn get(&self, v: ValueId) -> Bits {
        match self.function.as_constant(v) {
            Some(bits) => vec![bits],
            None => self.values[&v].clone(),
        }
    }
    fn all(&self, values: &[ValueId]) -> Vec<Bits> {
        values.iter().map(|v| self.get(*v)).collect()
    }
    fn set(&mut self, targets: &[ValueId], values: Vec<Bits>) {
        assert_eq!(targets.len(), values.len());
        self.values.extend(targets.iter().copied().zip(values));
    }
}

impl Machine<'_> {
    fn call(&mut self, function: &Function, operands: Vec<Bits>) -> Vec<Bits> {
        let mut frame = Frame { function, values: HashMap::new() };
        frame.set(&function.params, operands);
        for memory in function.memories.iter() {
            let bytes = function.as_constant(memory.length).unwrap() * u64::from(memory.element.bytes());
            frame.values.insert(memory.value, vec![self.memories.len() as u64]);
            self.memories.push(vec![0; bytes as usize]);
        }
        match self.region(&mut frame, function.body) {
            End::Return(values) | End::Yield(values) => values,
            _ => panic!("a function returns"),
        }
    }

    fn region(&mut self, f: &mut Frame<'_>, region: RegionId) -> End {
        let function = f.function;
        for id in &function.regions[region].insts {
            let inst = &function.insts[*id];
            match inst.op {
                Op::Yield => return End::Yield(f.all(&inst.operands)),
                Op::Break => return End::Break(f.all(&inst.operands)),
                Op::Continue => return End::Continue(f.all(&inst.operands)),
                Op::Return => return End::Return(f.all(&inst.operands)),
                Op::While => return End::While(f.get(inst.operands[0])[0] != 0, f.all(&inst.operands[1..])),
                Op::If | Op::Switch => {
                    let condition = f.get(inst.operands[0])[0];
                    let chosen = if inst.op == Op::If {
                        usize::from(condition == 0)
                    } else {
                        let value = eval::signed(condition, inst.element());
                        let cases = inst.cases();
                        cases.iter().position(|c| c.contains(&value)).unwrap_or(cases.len())
                    };
                    match self.region(f, inst.regions[chosen]) {
                        End::Yield(values) => f.set(&inst.results, values),
                        other => return other,
                    }
                }
                Op::Loop => {
                    let params = &function.regions[inst.regions[0]].params;
                    let mut next = f.all(&inst.operands);
                    let mut left = 10_000;
                    let values = loop {
                        left -= 1;
                        assert!(left > 0, "a loop that does not end");
                        f.set(params, next);
                        match self.region(f, inst.regions[0]) {
                            End::Break(values) => break values,
                            End::Continue(values) | End::While(true, values) => next = values,
                            End::While(false, _) => break f.all(params),
                            other => return other,
                        }
                    };
                    f.set(&inst.results, values);
                }
                Op::Call => {
                    let callee = &self.module.functions[inst.callee().unwrap()];
                    let results = self.call(callee, f.all(&inst.operands));
                    f.set(&inst.results, results);
                }
                _ => {
                    let results = self.plain(f, inst);
                    f.set(&inst.results, results);
                }
            }
        }
        End::Yield(vec![])
    }

    fn plain(&mut self, f: &Frame<'_>, inst: &Inst) -> Vec<Bits> {
        let x = f.all(&inst.operands);
        let ty = inst.ty.unwrap_or(Type::U32);
        let scalar = inst.element();
        match inst.op {
            Op::Vector => vec![x.concat()],
            Op::Splat => vec![vec![x[0][0]; ty.lanes() as usize]],
            Op::Extract => vec![vec![x[0][(x[1][0] as usize).min(x[0].len() - 1)]]],
            Op::Insert => {
                let mut v = x[0].clone();
                v[x[1][0] as usize] = x[2][0];
                vec![v]
            }
            Op::Bitcast => {
                let from = f.function.ty(inst.operands[0]).element().unwrap();
                vec![unpack(&pack(&x[0], from), scalar)]
            }
            Op::Load | Op::UniformLoad | Op::AtomicLoad => vec![self.load(f, inst, ty)],
            Op::Store | Op::AtomicStore => {
                let at = self.place(f, inst, ty);
                self.memories[at.0][at.1].copy_from_slice(&pack(&x[2], scalar));
                vec![]
            }
            atomic_updates!() | Op::AtomicCompareExchange => {
                let old = self.load(f, inst, ty)[0];
                let value = x[2][0];
                let op = match inst.op {
                    Op::AtomicAdd => Op::Add,
                    Op::AtomicMin => Op::Min,
                    Op::AtomicMax => Op::Max,
                    Op::AtomicAnd => Op::And,
                    Op::AtomicOr => Op::Or,
                    Op::AtomicXor => Op::Xor,
                    _ => Op::Select,
                };
                let new = match inst.op {
                    Op::AtomicExchange => value,
                    Op::AtomicCompareExchange => {
                        if old == value {
                            x[3][0]
                        } else {
                            old
                        }
                    }
                    _ => eval::scalar(op, scalar, scalar, &[old, value]).unwrap(),
                };
                let at = self.place(f, inst, ty);
                self.memories[at.0][at.1].copy_from_slice(&pack(&[new], scalar));
                vec![vec![old]]
            }
            Op::LocalIndex | Op::LocalId | Op::GlobalId | Op::WorkgroupId => vec![vec![0]],
            Op::Barrier => vec![],
            _ => vec![self.lanes(f, inst, &x)],
        }
    }

    /// Arithmetic lane by lane.
    fn lanes(&mut self, f: &Frame<'_>, inst: &Inst, x: &[Bits]) -> Bits {
        let scalar = inst.element();
        let source = f.function.ty(*inst.operands.last().unwrap()).element().unwrap();
        let count = x.iter().map(Vec::len).max().unwrap_or(1);
        let lane = |i: usize| -> Vec<u64> { x.iter().map(|o| o[if o.len() == 1 { 0 } else { i }]).collect() };
        (0..count).map(|i| operation(inst.op, scalar, source, &lane(i))).collect()
    }

    fn place(&self, f: &Frame<'_>, inst: &Inst, ty: Type) -> (usize, std::ops::Range<usize>) {
        let memory = f.get(inst.operands[0])[0] as usize;
        let index = f.get(inst.operands[1])[0] as i64 + i64::from(inst.offset());
        let bytes = ty.bytes() as usize;
        let start = usize::try_from(index).expect("an index that is not negative") * bytes;
        (memory, start..start + bytes)
    }
    fn load(&self, f: &Frame<'_>, inst: &Inst, ty: Type) -> Bits {
        let at = self.place(f, inst, ty);
        unpack(&self.memories[at.0][at.1], inst.element())
    }
}

/// A scalar operation, those of the math library by its routines.
fn operation(op: Op, scalar: Scalar, source: Scalar, x: &[u64]) -> u64 {
    if !matches!(op.row().class, Class::Library(_)) {
        return eval::scalar(op, scalar, source, x).unwrap_or_else(|| panic!("{}.{scalar}", op.name()));
    }
    let convert = |to, from, x: u64| eval::scalar(Op::Convert, to, from, &[x]).unwrap();
    let library = crate::ir::math::library();
    let routine = library.find(math::routine(op, Scalar::F32).unwrap()).unwrap();
    let operands = x.iter().map(|x| vec![convert(Scalar::F32, scalar, *x)]).collect();
    let mut machine = Machine { module: library, memories: vec![] };
    let result = machine.call(&library.functions[routine], operands)[0][0];
    convert(scalar, Scalar::F32, result)
}

/// Bytes of lanes.
pub fn pack(lanes: &[u64], ty: Scalar) -> Vec<u8> {
    lanes.iter().flat_map(|bits| bits.to_le_bytes()[..ty.bytes() as usize].to_vec()).collect()
}

/// Lanes from bytes.
pub fn unpack(bytes: &[u8], ty: Scalar) -> Vec<u64> {
    let lane = |b: &[u8]| b.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    bytes.chunks(ty.bytes() as usize).map(lane).collect()
}
