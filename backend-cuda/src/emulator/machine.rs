//! Workgroups and their threads: each thread runs until it waits for others, who then go on together.

use super::alu;
use super::memory::{self, Wrong, outside, place};
use super::parse::{Base, Code, Instruction, Operand, Program};
use girih_base::diag;
use girih_ir::Scalar;
use std::collections::HashMap;

/// Global memory: the bytes of each buffer.
pub(super) type Buffers = Vec<Vec<u8>>;

/// A launch.
pub(super) struct Launch<'a> {
    pub program: &'a Program,
    pub entry: usize,
    pub grid: [u32; 3],
    pub workgroup: [u32; 3],
    /// Bits of each parameter.
    pub params: &'a [u64],
    /// Bytes of shared memory that are asked for.
    pub asked: u64,
    /// Whether all workgroups run at once.
    pub together: bool,
}

/// Instructions that a thread runs before another one's turn.
const TURN: usize = 500;
/// Rounds of turns after which a workgroup is taken to run without end.
const ROUNDS: usize = 2_000_000;
/// What a lane that does not take part is found to hold.
const NOTHING: u64 = 0xdead_beef;

/// Why a thread does not go on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// It waits for the workgroup.
    Barrier,
    /// It waits for its subgroup.
    Lanes,
    /// It waits for a phase of a barrier in shared memory, and asks again when it has its turn.
    Phase,
    Done,
}

#[derive(Debug)]
struct Activation {
    code: usize,
    at: usize,
    registers: Vec<u64>,
    spaces: HashMap<String, Vec<u8>>,
}

#[derive(Debug)]
struct Thread {
    activations: Vec<Activation>,
    local: Vec<u8>,
    position: [u32; 3],
    index: usize,
    state: State,
}

struct Workgroup {
    threads: Vec<Thread>,
    shared: Vec<u8>,
    id: [u32; 3],
}

/// What went wrong, and at which line of the text.
pub(super) struct Fault {
    pub code: diag::Code,
    pub line: Option<usize>,
    pub message: String,
}

/// Runs a launch.
pub(super) fn run(launch: &Launch<'_>, buffers: &mut Buffers) -> Result<(), Fault> {
    let [gx, gy, gz] = launch.grid;
    let ids = (0..gz).flat_map(|z| (0..gy).flat_map(move |y| (0..gx).map(move |x| [x, y, z])));
    if launch.together {
        let mut all: Vec<Workgroup> = ids.map(|id| Workgroup::new(launch, id)).collect();
        return rounds(launch, &mut all, buffers);
    }
    ids.map(|id| Workgroup::new(launch, id)).try_for_each(|group| rounds(launch, &mut [group], buffers))
}

/// Gives every workgroup a turn until all are done.
fn rounds(launch: &Launch<'_>, groups: &mut [Workgroup], buffers: &mut Buffers) -> Result<(), Fault> {
    for _ in 0..ROUNDS {
        let mut went_on = false;
        for group in groups.iter_mut() {
            went_on |= group.turn(launch, buffers)?;
        }
        if groups.iter().all(|group| group.threads.iter().all(|t| t.state == State::Done)) {
            return Ok(());
        }
        if !went_on {
            let stuck = groups.iter().flat_map(|g| &g.threads).find(|t| t.state != State::Done);
            let line = stuck.map(|t| t.instruction(launch.program).line);
            let message = "threads wait for others that never come here".into();
            return Err(Fault { code: diag::Code::Deadlock, line, message });
        }
    }
    Err(Fault { code: diag::Code::DeviceLost, line: None, message: "a kernel runs without end".into() })
}

impl Fault {
    fn at(instruction: &Instruction, wrong: Wrong) -> Fault {
        Fault { code: wrong.code, line: Some(instruction.line), message: wrong.message }
    }
}

impl Thread {
    fn activation(&self) -> &Activation {
        &self.activations[self.activations.len() - 1]
    }
    fn activation_mut(&mut self) -> &mut Activation {
        let last = self.activations.len() - 1;
        &mut self.activations[last]
    }
    fn instruction<'p>(&self, program: &'p Program) -> &'p Instruction {
        &program.codes[self.activation().code].instructions[self.activation().at]
    }
    fn get(&self, register: usize) -> u64 {
        self.activation().registers[register]
    }
    fn set(&mut self, operand: &Operand, value: u64) -> Result<(), Wrong> {
        match operand {
            Operand::Reg(register) => {
                self.activation_mut().registers[*register] = value;
                Ok(())
            }
            _ => Err("a result that is no register".into()),
        }
    }
}

impl Workgroup {
    fn new(launch: &Launch<'_>, id: [u32; 3]) -> Workgroup {
        let code = &launch.program.codes[launch.entry];
        let mut spaces: HashMap<String, Vec<u8>> = HashMap::new();
        for ((name, bytes), value) in code.params.iter().zip(launch.params) {
            spaces.insert(name.clone(), value.to_le_bytes()[..*bytes].to_vec());
        }
        let [x, y, z] = launch.workgroup;
        let positions = (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
        let thread = |(index, position)| Thread {
            activations: vec![activation(launch.program, launch.entry, spaces.clone())],
            local: vec![0xcd; code.local_bytes as usize],
            position,
            index,
            state: State::Running,
        };
        // Nothing lies behind a kernel's own arrays if it asks for none.
        let own = code.shared_bytes;
        let shared = if launch.asked == 0 { own } else { super::parse::asked_start(own) + launch.asked };
        Workgroup { threads: positions.enumerate().map(thread).collect(), shared: vec![0xcd; shared as usize], id }
    }

    /// Gives every thread a turn; whether any went on.
    fn turn(&mut self, launch: &Launch<'_>, buffers: &mut Buffers) -> Result<bool, Fault> {
        let mut went_on = false;
        for i in 0..self.threads.len() {
            if self.threads[i].state == State::Phase {
                self.threads[i].state = State::Running;
            }
            for _ in 0..TURN {
                if self.threads[i].state != State::Running {
                    break;
                }
                let instruction = self.threads[i].instruction(launch.program);
                self.step(launch, buffers, i, instruction).map_err(|wrong| Fault::at(instruction, wrong))?;
                // Who has asked in vain has not gone on: if nobody else does either, nothing ends the wait.
                went_on |= self.threads[i].state != State::Phase;
            }
        }
        went_on |= self.meet(launch.program, buffers)?;
        let waiting = |t: &Thread| matches!(t.state, State::Barrier | State::Done);
        if self.threads.iter().all(waiting) {
            for thread in self.threads.iter_mut().filter(|t| t.state == State::Barrier) {
                (thread.state, went_on) = (State::Running, true);
                thread.activation_mut().at += 1;
            }
        }
        Ok(went_on)
    }

    /// Lets the lanes of each subgroup communicate that have all come.
    fn meet(&mut self, program: &Program, buffers: &mut Buffers) -> Result<bool, Fault> {
        let mut went_on = false;
        // Subgroups, then groups of four of them.
        let (count, wide) =
            (self.threads.len(), |width: usize| (0..self.threads.len()).step_by(width).map(move |f| (f, width)));
        for (first, width) in wide(32).chain(wide(128)).collect::<Vec<_>>() {
            let lanes = &self.threads[first..count.min(first + width)];
            let waits =
                |t: &&Thread| t.state == State::Lanes && (t.instruction(program).name[0] == "wgmma") == (width == 128);
            let Some(one) = lanes.iter().find(waits) else { continue };
            let here = (one.activations.len(), one.activation().code, one.activation().at);
            let instruction = one.instruction(program);
            let members = if matches!(instruction.name[0].as_str(), "wmma" | "wgmma") {
                u64::MAX
            } else {
                instruction.operands.last().map_or(0, |mask| value(one, mask, self.id, &[0; 3], &[0; 3]))
            };
            let came = |t: &Thread| {
                t.state == State::Lanes && (t.activations.len(), t.activation().code, t.activation().at) == here
            };
            let member = |t: &Thread| members >> ((t.index - first) % 32) & 1 == 1;
            if !lanes.iter().all(|t| t.state == State::Done || !member(t) || came(t)) {
                continue;
            }
            let which: Vec<usize> = lanes.iter().filter(|t| member(t) && came(t)).map(|t| t.index).collect();
            let together = super::lanes::perform(self.parts(), instruction, &which, buffers);
            together.map_err(|wrong| Fault::at(instruction, wrong))?;
            for i in which {
                self.threads[i].state = State::Running;
                self.threads[i].activation_mut().at += 1;
            }
            went_on = true;
        }
        Ok(went_on)
    }

    fn parts(&mut self) -> Together<'_> {
        Together { threads: &mut self.threads, shared: &mut self.shared }
    }

    /// One instruction of one thread.
    fn step(&mut self, launch: &Launch<'_>, buffers: &mut Buffers, i: usize, ins: &Instruction) -> Result<(), Wrong> {
        let thread = &mut self.threads[i];
        if let Some((guard, wanted)) = ins.guard
            && (thread.get(guard) & 1 == 1) != wanted
        {
            thread.activation_mut().at += 1;
            return Ok(());
        }
        let (id, grid, size) = (self.id, launch.grid, launch.workgroup);
        let read = |thread: &Thread, operand: &Operand| value(thread, operand, id, &grid, &size);
        let name: Vec<&str> = ins.name.iter().map(String::as_str).collect();
        match name[0] {
            "bar" => {
                thread.state = State::Barrier;
                return Ok(());
            }
            "wgmma" if name[1] != "mma_async" => {}
            "vote" | "shfl" | "redux" | "wmma" | "wgmma" => {
                thread.state = State::Lanes;
                return Ok(());
            }
            "bra" | "brx" => return jump(thread, launch.program, ins),
            "ret" => return leave(thread, launch.program),
            "call" => return call(thread, launch.program, ins),
            "fence" => {}
            "mov" => mov(thread, ins, |t, o| read(t, o))?,
            "ld" | "st" => self.access(buffers, i, ins, &name)?,
            "atom" | "red" => self.atomic(buffers, i, ins, &name)?,
            "cp" => self.copy(buffers, i, ins, &name)?,
            "mbarrier" => {
                self.mbarrier(i, ins, &name)?;
                if self.threads[i].state == State::Phase {
                    return Ok(());
                }
            }
            _ => {
                let (to, from) = ins.operands.split_first().ok_or("an instruction without operands")?;
                let x: Vec<u64> = from.iter().map(|o| read(thread, o)).collect();
                let result = alu::pair(&ins.name, &x).or_else(|| alu::compute(&ins.name, &x));
                thread.set(to, result.ok_or_else(|| format!("`{}` is not known", ins.name.join(".")))?)?;
            }
        }
        self.threads[i].activation_mut().at += 1;
        Ok(())
    }

    /// A load or store.
    fn access(&mut self, buffers: &mut Buffers, i: usize, ins: &Instruction, name: &[&str]) -> Result<(), Wrong> {
        let ty = name.last().and_then(|n| alu::scalar(n)).ok_or("an access of no type")?;
        let (address, list) = match name[0] {
            "ld" => (&ins.operands[1], &ins.operands[0]),
            _ => (&ins.operands[0], &ins.operands[1]),
        };
        let list = match list {
            Operand::List(list) => list.clone(),
            one => vec![one.clone()],
        };
        let bytes = ty.bytes() as usize;
        self.aligned(i, address, bytes * list.len())?;
        for (k, operand) in list.iter().enumerate() {
            let (memory, at) = self.memory(buffers, i, address, name, k * bytes)?;
            if name[0] == "ld" {
                let bits = memory::read(memory, at, bytes)?;
                let sign = ty.is_signed() && bits >> (ty.bits() - 1) & 1 == 1;
                let extended = if sign && ty.bits() < 32 { bits | 0xffff_ffff & !ty.mask() } else { bits };
                self.threads[i].set(operand, extended)?;
            } else {
                let bits = match operand {
                    Operand::Reg(register) => self.threads[i].get(*register),
                    Operand::Bits(bits) => *bits,
                    _ => return Err("a store of no number".into()),
                };
                let (memory, at) = self.memory(buffers, i, address, name, k * bytes)?;
                memory::write(memory, at, bytes, bits)?;
            }
        }
        Ok(())
    }

    /// The whole of an access is aligned to its size.
    fn aligned(&self, i: usize, address: &Operand, bytes: usize) -> Result<(), Wrong> {
        match address {
            Operand::Address(Base::Param(_), _) => Ok(()),
            _ if self.pointer(i, address).is_multiple_of(bytes as u64) => Ok(()),
            _ => Err(format!("an access of {bytes} bytes at {:#x} is not aligned", self.pointer(i, address)).into()),
        }
    }

    fn pointer(&self, i: usize, address: &Operand) -> u64 {
        match address {
            Operand::Address(Base::Reg(register), bytes) => self.threads[i].get(*register).wrapping_add(*bytes as u64),
            Operand::Address(Base::Fixed(start), bytes) => start.wrapping_add(*bytes as u64),
            _ => 0,
        }
    }

    /// The bytes that an address is in, and where in them.
    fn memory<'m>(
        &'m mut self,
        buffers: &'m mut Buffers,
        i: usize,
        address: &Operand,
        name: &[&str],
        further: usize,
    ) -> Result<(&'m mut Vec<u8>, usize), Wrong> {
        let pointer = self.pointer(i, address).wrapping_add(further as u64);
        let low = (pointer & 0xffff_ffff) as usize;
        if name.contains(&"param") {
            let Operand::Address(Base::Param(list), bytes) = address else { return Err("no parameter".into()) };
            let space = self.threads[i].activation_mut().spaces.entry(list.clone()).or_insert_with(|| vec![0; 4096]);
            return Ok((space, *bytes as usize + further));
        }
        if name.contains(&"shared") {
            return Ok((&mut self.shared, low));
        }
        if name.contains(&"local") {
            return Ok((&mut self.threads[i].local, low));
        }
        let (buffer, at) = place(pointer);
        let memory = buffers.get_mut(buffer).ok_or_else(|| outside(format!("there is no buffer at {pointer:#x}")))?;
        Ok((memory, at))
    }

    fn atomic(&mut self, buffers: &mut Buffers, i: usize, ins: &Instruction, name: &[&str]) -> Result<(), Wrong> {
        let ty = name.last().and_then(|n| alu::scalar(n)).ok_or("an atomic of no type")?;
        let (result, rest) = match name[0] {
            "atom" => (ins.operands.first(), &ins.operands[1..]),
            _ => (None, &ins.operands[..]),
        };
        let number = |operand: &Operand| match operand {
            Operand::Reg(register) => Ok(self.threads[i].get(*register)),
            Operand::Bits(bits) => Ok(*bits),
            _ => Err(Wrong::from("no number")),
        };
        let x: Vec<u64> = rest[1..].iter().map(number).collect::<Result<_, _>>()?;
        let (memory, at) = self.memory(buffers, i, &rest[0], name, 0)?;
        let old = memory::read(memory, at, ty.bytes() as usize)?;
        let what = name.iter().rev().skip(1).find(|part| **part != "noftz").ok_or("an atomic of no name")?;
        let new = alu::atomic(what, ty, old, &x).ok_or("an atomic that is not known")?;
        memory::write(memory, at, ty.bytes() as usize, new)?;
        result.map_or(Ok(()), |to| self.threads[i].set(to, old))
    }

    /// Copies beside the program are made at once; an arrival of theirs too.
    fn copy(&mut self, buffers: &mut Buffers, i: usize, ins: &Instruction, name: &[&str]) -> Result<(), Wrong> {
        if name.contains(&"mbarrier") {
            return self.mbarrier(i, ins, &["mbarrier", "arrive"]);
        }
        let [to, from, Operand::Bits(bytes), rest @ ..] = &ins.operands[..] else { return Ok(()) };
        let bytes = *bytes as usize;
        let read = match rest.first() {
            Some(Operand::Reg(register)) => self.threads[i].get(*register) as usize,
            Some(Operand::Bits(n)) => *n as usize,
            _ => bytes,
        };
        self.aligned(i, to, bytes)?;
        let mut data = vec![0; bytes];
        if read > 0 {
            self.aligned(i, from, bytes)?;
            let (memory, at) = self.memory(buffers, i, from, &["global"], 0)?;
            let source = memory.get(at..at + read).ok_or_else(|| outside("a copy from beyond a buffer".into()))?;
            data[..read].copy_from_slice(source);
        }
        let (memory, at) = self.memory(buffers, i, to, &["shared"], 0)?;
        memory
            .get_mut(at..at + bytes)
            .ok_or_else(|| outside("a copy beyond shared memory".into()))?
            .copy_from_slice(&data);
        Ok(())
    }

    /// A barrier with phases: arrivals that are still awaited, all of a phase, and the phase, in one word.
    fn mbarrier(&mut self, i: usize, ins: &Instruction, name: &[&str]) -> Result<(), Wrong> {
        let number = |thread: &Thread, operand: Option<&Operand>| match operand {
            Some(Operand::Reg(register)) => thread.get(*register),
            Some(Operand::Bits(bits)) => *bits,
            _ => 0,
        };
        let address = ins.operands.iter().find(|o| matches!(o, Operand::Address(..))).ok_or("no barrier")?;
        let at = self.pointer(i, address) as usize;
        let state = memory::read(&self.shared, at, 8)?;
        let (awaited, all, phase) = (state & 0xffff, state >> 16 & 0xffff, state >> 32);
        let last = number(&self.threads[i], ins.operands.last());
        match name[1] {
            "init" => memory::write(&mut self.shared, at, 8, last << 16 | last),
            "arrive" => {
                let next = if awaited <= 1 { (phase + 1) << 32 | all << 16 | all } else { state - 1 };
                memory::write(&mut self.shared, at, 8, next)?;
                if name.len() > 2 { self.threads[i].set(&ins.operands[0], phase) } else { Ok(()) }
            }
            "test_wait" | "try_wait" => {
                let parity = name.contains(&"parity");
                let complete = if parity { phase & 1 != last & 1 } else { phase != last };
                // The text waits by asking for the phase's parity again; where it asks for a token, it goes on with what it is told.
                if parity && !complete {
                    self.threads[i].state = State::Phase;
                    return Ok(());
                }
                self.threads[i].set(&ins.operands[0], complete.into())
            }
            _ => Err("a barrier's operation that is not known".into()),
        }
    }
}

/// What lanes that communicate see.
pub(super) struct Together<'a> {
    threads: &'a mut [Thread],
    pub shared: &'a mut Vec<u8>,
}

impl Together<'_> {
    /// An operand of a thread.
    pub fn get(&self, thread: usize, operand: &Operand) -> u64 {
        value(&self.threads[thread], operand, [0; 3], &[0; 3], &[0; 3])
    }
    /// Writes a result of a thread.
    pub fn set(&mut self, thread: usize, operand: &Operand, bits: u64) -> Result<(), Wrong> {
        self.threads[thread].set(operand, bits)
    }
    /// A word that stands for what is not defined.
    pub fn nothing(&self) -> u64 {
        NOTHING
    }
}

fn activation(program: &Program, code: usize, spaces: HashMap<String, Vec<u8>>) -> Activation {
    // Registers hold anything at first.
    Activation { code, at: 0, registers: vec![NOTHING; program.codes[code].registers], spaces }
}

/// The bits of an operand.
fn value(thread: &Thread, operand: &Operand, id: [u32; 3], grid: &[u32; 3], size: &[u32; 3]) -> u64 {
    match operand {
        Operand::Reg(register) => thread.get(*register),
        Operand::Bits(bits) => *bits,
        Operand::Special(name) => {
            let (name, dim) = name.split_once('.').unwrap_or((name, "x"));
            let dim = ["x", "y", "z"].iter().position(|d| *d == dim).unwrap_or(0);
            u64::from(match name {
                "tid" => thread.position[dim],
                "ctaid" => id[dim],
                "nctaid" => grid[dim],
                "ntid" => size[dim],
                _ => thread.index as u32 % 32,
            })
        }
        Operand::Address(Base::Reg(register), bytes) => thread.get(*register).wrapping_add(*bytes as u64),
        Operand::Address(Base::Fixed(start), bytes) => start.wrapping_add(*bytes as u64),
        Operand::Address(Base::Param(_), _) | Operand::List(_) | Operand::Pair(..) | Operand::Name(_) => NOTHING,
    }
}

/// `mov`, which also takes registers apart and puts them together.
fn mov(thread: &mut Thread, ins: &Instruction, read: impl Fn(&Thread, &Operand) -> u64) -> Result<(), Wrong> {
    let whole = ins.name.last().and_then(|n| alu::scalar(n)).map_or(32, Scalar::bits);
    match (&ins.operands[0], &ins.operands[1]) {
        (Operand::List(to), from) => {
            let (bits, part) = (read(thread, from), whole / to.len() as u32);
            for (k, to) in to.iter().enumerate() {
                thread.set(to, bits >> (k as u32 * part) & (u64::MAX >> (64 - part)))?;
            }
            Ok(())
        }
        (to, Operand::List(from)) => {
            let part = whole / from.len() as u32;
            let piece = |(k, o): (usize, &Operand)| (read(thread, o) & (u64::MAX >> (64 - part))) << (k as u32 * part);
            let bits = from.iter().enumerate().map(piece).sum();
            thread.set(to, bits)
        }
        (to, from) => {
            let bits = read(thread, from) & (u64::MAX >> (64 - whole));
            thread.set(to, bits)
        }
    }
}

fn jump(thread: &mut Thread, program: &Program, ins: &Instruction) -> Result<(), Wrong> {
    let code: &Code = &program.codes[thread.activation().code];
    let label = match &ins.operands[..] {
        [Operand::Name(label)] => label,
        [index, Operand::Name(table)] => {
            let Operand::Reg(register) = index else { return Err("a table without an index".into()) };
            let labels = code.tables.get(table).ok_or("there is no such table")?;
            labels.get(thread.get(*register) as usize).ok_or("a jump beyond a table")?
        }
        _ => return Err("a jump to nowhere".into()),
    };
    thread.activation_mut().at = *code.labels.get(label).ok_or("there is no such label")?;
    Ok(())
}

fn call(thread: &mut Thread, program: &Program, ins: &Instruction) -> Result<(), Wrong> {
    let named = |o: &Operand| if let Operand::Name(name) = o { program.find(name) } else { None };
    let code = ins.operands.iter().find_map(named).ok_or("a call of nothing")?;
    let given = thread.activation().spaces.get("given").cloned().unwrap_or_default();
    let spaces = HashMap::from([("arguments".to_owned(), given)]);
    thread.activations.push(activation(program, code, spaces));
    Ok(())
}

fn leave(thread: &mut Thread, program: &Program) -> Result<(), Wrong> {
    let Some(mut done) = thread.activations.pop() else { return Ok(()) };
    if thread.activations.is_empty() {
        thread.activations.push(done);
        thread.state = State::Done;
        return Ok(());
    }
    if program.codes[done.code].results > 0 {
        let results = done.spaces.remove("results").ok_or("a function without its results")?;
        thread.activation_mut().spaces.insert("got".into(), results);
    }
    thread.activation_mut().at += 1;
    Ok(())
}
