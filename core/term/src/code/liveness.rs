//! Which slots are still needed at each instruction: what the collector takes for roots.
//!
//! Code only jumps forward, so one walk from the end computes it. The first 64 slots of a frame are tracked. In the
//! others, whatever stands below the height of an instruction is kept: the slots that have been written when it runs.

use std::collections::HashMap;

use super::instruction::{Address, Instruction, Slot};
use super::{Absorb, Tables};

/// How many slots are tracked: the bits of a mask.
const TRACKED: u32 = u64::BITS;

/// What an instruction reads and writes, and where it goes on.
struct Effect {
    /// Slots that are read.
    reads: Vec<Slot>,
    /// The first slot that is written, and how many from there.
    writes: (Slot, u32),
    next: Next,
}

enum Next {
    /// At the next instruction.
    Following,
    /// At these addresses.
    At(Vec<Address>),
    /// Not in this function.
    Nowhere,
}

/// One past the highest slot that the last instruction reads.
pub(super) fn reads_below(tables: &Tables) -> Slot {
    let last = tables.instructions.len() - 1;
    effect(tables, last).reads.into_iter().max().map_or(0, |slot| slot + 1)
}

/// How many slots the instructions from `start` on use.
pub(super) fn frame(tables: &Tables, start: usize) -> u32 {
    let last = |address| {
        let Effect { reads, writes: (first, count), .. } = effect(tables, address);
        reads.into_iter().map(|slot| slot + 1).chain([first + count]).max().unwrap_or(0)
    };
    (start..tables.instructions.len()).map(last).max().unwrap_or(0)
}

/// Computes the masks of the function that starts at `start` and ends the code.
pub(super) fn compute(tables: &mut Tables, start: usize) {
    let end = tables.instructions.len();
    let absorbing = tables.absorbing.iter().rev().take_while(|(at, _)| *at as usize >= start);
    let absorbing: HashMap<Address, Absorb> = absorbing.copied().collect();
    tables.live.resize(end, 0);
    for address in (start..end).rev() {
        let Effect { reads, writes: (first, count), next } = effect(tables, address);
        let live_at = |to: Address| tables.live.get(to as usize).copied().unwrap_or(0);
        let mut live = match next {
            Next::Following => live_at(address as Address + 1),
            // No arm starts at the address 0; it stands for a constructor without an arm.
            Next::At(targets) => targets.into_iter().filter(|&to| to != 0).fold(0, |live, to| live | live_at(to)),
            Next::Nowhere => 0,
        };
        if let Some(&Absorb { dst, join }) = absorbing.get(&(address as Address)) {
            live |= live_at(join) & !bit(dst);
        }
        for slot in first..first + count {
            live &= !bit(slot);
        }
        for slot in reads {
            live |= bit(slot);
        }
        tables.live[address] = live;
    }
}

fn bit(slot: Slot) -> u64 {
    if slot < TRACKED { 1 << slot } else { 0 }
}

fn effect(tables: &Tables, address: usize) -> Effect {
    let following = |reads: Vec<Slot>, dst: Slot| Effect { reads, writes: (dst, 1), next: Next::Following };
    let branch = |reads: Vec<Slot>, to: Address| Effect {
        reads,
        writes: (0, 0),
        next: Next::At(vec![address as Address + 1, to]),
    };
    let table = |src: Slot, table: u32, count: usize| {
        let targets = &tables.targets[table as usize..table as usize + count];
        Effect { reads: vec![src], writes: (0, 0), next: Next::At(targets.to_vec()) }
    };
    let window = |at: Slot, count: u32| (at..at + count).collect::<Vec<Slot>>();
    match tables.instructions[address] {
        Instruction::Move { dst, src } | Instruction::Predecessor { dst, src, .. } => following(vec![src], dst),
        Instruction::Const { dst, .. } | Instruction::Text { dst, .. } => following(vec![], dst),
        Instruction::Data1 { dst, field, .. } => following(vec![field], dst),
        Instruction::Data2 { dst, first, second, .. } | Instruction::Pair { dst, first, second } => {
            following(vec![first, second], dst)
        }
        Instruction::Data { count, dst, at, .. } | Instruction::Partial { count, dst, at, .. } => {
            following(window(at, u32::from(count)), dst)
        }
        Instruction::Tuple { dst, at, count } | Instruction::List { dst, at, count } => {
            following(window(at, count), dst)
        }
        Instruction::Closure { dst, lambda } => following(tables.lambdas[lambda].slots.to_vec(), dst),
        Instruction::Op { dst, a, b, .. } | Instruction::Prim { dst, a, b, .. } => following(vec![a, b], dst),
        Instruction::OpConst { dst, a, .. } => following(vec![a], dst),
        Instruction::Force { dst, src } => following(vec![src], dst),
        Instruction::Jump { to } => Effect { reads: vec![], writes: (0, 0), next: Next::At(vec![to]) },
        Instruction::IfZero { src, zero } => branch(vec![src], zero),
        Instruction::Branch { a, b, zero, .. } => branch(vec![a, b], zero),
        Instruction::BranchConst { a, zero, .. } => branch(vec![a], zero),
        Instruction::Switch { src, table: start, count } => table(src, start, count as usize + 1),
        Instruction::Search { src, keys, table: start } => table(src, start, tables.keys[keys as usize].len() + 1),
        Instruction::Match { count, src, table: start, .. } => table(src, start, usize::from(count)),
        Instruction::Fields { count, src, dst, .. } => {
            Effect { reads: vec![src], writes: (dst, u32::from(count)), next: Next::Following }
        }
        Instruction::Untuple { src, dst, count } => {
            Effect { reads: vec![src], writes: (dst, count), next: Next::Following }
        }
        Instruction::Call { count, at, .. } => following(window(at, u32::from(count)), at),
        Instruction::Apply { function, at, count } => {
            let mut reads = window(at, count);
            reads.push(function);
            following(reads, at)
        }
        Instruction::TailCall { count, at, .. } => {
            Effect { reads: window(at, u32::from(count)), writes: (0, 0), next: Next::Nowhere }
        }
        Instruction::TailApply { function, at, count } => {
            let mut reads = window(at, count);
            reads.push(function);
            Effect { reads, writes: (0, 0), next: Next::Nowhere }
        }
        Instruction::Return { src } => Effect { reads: vec![src], writes: (0, 0), next: Next::Nowhere },
        Instruction::Stop | Instruction::Resume | Instruction::Store | Instruction::Deliver | Instruction::Refused => {
            Effect { reads: vec![], writes: (0, 0), next: Next::Nowhere }
        }
    }
}
