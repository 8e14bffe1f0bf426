//! What the lanes of a subgroup do together.

use super::alu;
use super::fragments;
use super::machine::{Buffers, Together};
use super::memory::Wrong;
use super::parse::{Instruction, Operand};
use girih_ir::{Op, eval};

/// Runs an instruction of lanes that have all come to it; `which` are the threads that take part.
pub(super) fn perform(
    mut all: Together<'_>,
    ins: &Instruction,
    which: &[usize],
    buffers: &mut Buffers,
) -> Result<(), Wrong> {
    let name: Vec<&str> = ins.name.iter().map(String::as_str).collect();
    match name[..] {
        ["vote", "sync", how, _] => vote(&mut all, ins, which, how),
        ["shfl", "sync", how, _] => shuffle(&mut all, ins, which, how),
        ["redux", "sync", how, ty] => reduce(&mut all, ins, which, how, ty),
        ["wgmma", ..] => super::warpgroup::product(&mut all, ins, which),
        ["wmma", ..] => fragments::perform(&mut all, ins, &name, which, buffers),
        _ => Err(format!("`{}` is not known", ins.name.join(".")).into()),
    }
}

fn vote(all: &mut Together<'_>, ins: &Instruction, which: &[usize], how: &str) -> Result<(), Wrong> {
    let holds: Vec<bool> = which.iter().map(|t| all.get(*t, &ins.operands[1]) & 1 == 1).collect();
    let bit = |(t, holds): (&usize, &bool)| u64::from(*holds) << (t % 32);
    let result = match how {
        "ballot" => which.iter().zip(&holds).map(bit).sum(),
        "any" => holds.contains(&true).into(),
        _ => u64::from(!holds.contains(&false)),
    };
    which.iter().try_for_each(|t| all.set(*t, &ins.operands[0], result))
}

fn shuffle(all: &mut Together<'_>, ins: &Instruction, which: &[usize], how: &str) -> Result<(), Wrong> {
    let values: Vec<u64> = which.iter().map(|t| all.get(*t, &ins.operands[1])).collect();
    let mut results = vec![];
    for thread in which {
        let lane = (thread % 32) as u64;
        let (by, clamp) = (all.get(*thread, &ins.operands[2]) & 31, all.get(*thread, &ins.operands[3]) & 31);
        let (from, exists) = match how {
            "up" => (lane.wrapping_sub(by), lane >= by && lane - by >= clamp),
            "down" => (lane + by, lane + by <= clamp),
            "bfly" => (lane ^ by, lane ^ by <= clamp),
            _ => (by, by <= clamp),
        };
        let from = if exists { from } else { lane };
        let found = which.iter().position(|t| (t % 32) as u64 == from).map(|i| values[i]);
        results.push((*thread, found.unwrap_or(all.nothing()), exists));
    }
    for (thread, value, exists) in results {
        match &ins.operands[0] {
            Operand::Pair(to, predicate) => {
                all.set(thread, &Operand::Reg(*to), value)?;
                all.set(thread, &Operand::Reg(*predicate), exists.into())?;
            }
            to => all.set(thread, to, value)?,
        }
    }
    Ok(())
}

fn reduce(all: &mut Together<'_>, ins: &Instruction, which: &[usize], how: &str, ty: &str) -> Result<(), Wrong> {
    let op = match how {
        "add" => Op::Add,
        "min" => Op::Min,
        "max" => Op::Max,
        "and" => Op::And,
        "or" => Op::Or,
        _ => Op::Xor,
    };
    let ty = alu::scalar(ty).ok_or("a reduction of no type")?;
    let values: Vec<u64> = which.iter().map(|t| all.get(*t, &ins.operands[1])).collect();
    let total = values.into_iter().reduce(|a, b| eval::scalar(op, ty, ty, &[a, b]).unwrap_or(0)).unwrap_or(0);
    which.iter().try_for_each(|t| all.set(*t, &ins.operands[0], total))
}
