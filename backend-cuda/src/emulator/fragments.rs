//! Matrix fragments. Which lane holds which element is nobody's business: here each holds as many as the next, in order.

use super::machine::{Buffers, Together};
use super::memory::{self, Wrong, outside, place};
use super::parse::{Instruction, Operand};
use girih_ir::{Op, Scalar, eval};

/// The shape of a product: `m16n16k16`.
fn shape(text: &str) -> Option<[usize; 3]> {
    let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// Rows and columns of a factor or sum.
fn sides(which: &str, [m, n, k]: [usize; 3]) -> (usize, usize) {
    match which {
        "a" => (m, k),
        "b" => (k, n),
        _ => (m, n),
    }
}

/// Loads, stores and products.
pub(super) fn perform(
    all: &mut Together<'_>,
    ins: &Instruction,
    name: &[&str],
    which: &[usize],
    buffers: &mut Buffers,
) -> Result<(), Wrong> {
    if which.len() != 32 {
        return Err("a fragment needs all 32 lanes".into());
    }
    let shape = name.iter().find_map(|part| shape(part)).ok_or("a fragment without a shape")?;
    let ty = name.last().and_then(|n| super::alu::scalar(n)).ok_or("a fragment of no type")?;
    if name[1] == "mma" {
        return product(all, ins, name, which, shape);
    }
    let load = name[1] == "load";
    let (rows, columns) = sides(name[2], shape);
    let (pointer, list) = if load { (1, 0) } else { (0, 1) };
    let start = all.get(which[0], &ins.operands[pointer]);
    let stride = all.get(which[0], &ins.operands[2]) as usize;
    let shared = name.contains(&"shared");
    let mut elements = if load { vec![0; rows * columns] } else { gather(all, which, &ins.operands[list], ty) };
    for row in 0..rows {
        for column in 0..columns {
            let at = if name.contains(&"row") { row * stride + column } else { row + column * stride };
            let address = start + (at * ty.bytes() as usize) as u64;
            let (buffer, byte) = if shared { (usize::MAX, address as usize) } else { place(address) };
            let memory = match shared {
                true => &mut *all.shared,
                false => buffers.get_mut(buffer).ok_or_else(|| outside("a fragment of no buffer".into()))?,
            };
            let element = &mut elements[row * columns + column];
            if load {
                *element = memory::read(memory, byte, ty.bytes() as usize)?;
            } else {
                memory::write(memory, byte, ty.bytes() as usize, *element)?;
            }
        }
    }
    if load { scatter(all, which, &ins.operands[list], ty, &elements) } else { Ok(()) }
}

/// The registers of a fragment.
fn registers(list: &Operand) -> Vec<Operand> {
    match list {
        Operand::List(list) => list.clone(),
        one => vec![one.clone()],
    }
}

/// The elements that 32 lanes hold.
fn gather(all: &Together<'_>, which: &[usize], list: &Operand, ty: Scalar) -> Vec<u64> {
    let per_register = (4 / ty.bytes()).max(1);
    let mut elements = vec![];
    for thread in which {
        for register in registers(list) {
            let bits = all.get(*thread, &register);
            elements.extend((0..per_register).map(|i| bits.checked_shr(i * ty.bits()).unwrap_or(0) & ty.mask()));
        }
    }
    elements
}

/// Gives elements to 32 lanes. Registers beyond them hold nothing that counts, but are the same in every fragment.
fn scatter(all: &mut Together<'_>, which: &[usize], list: &Operand, ty: Scalar, elements: &[u64]) -> Result<(), Wrong> {
    let per_register = (4 / ty.bytes()).max(1) as usize;
    let registers = registers(list);
    let share = registers.len() * per_register;
    for (i, thread) in which.iter().enumerate() {
        for (j, register) in registers.iter().enumerate() {
            let first = i * share + j * per_register;
            let part = |k: usize| elements.get(first + k).copied().unwrap_or(0) << (k as u32 * ty.bits() % 64);
            let bits = (0..per_register).map(part).sum();
            all.set(*thread, register, bits)?;
        }
    }
    Ok(())
}

/// a * b + c: `wmma.mma.sync.aligned.row.col.SHAPE.{acc}.{acc}` or `.{acc}.{factor}.{factor}.{acc}`.
fn product(
    all: &mut Together<'_>,
    ins: &Instruction,
    name: &[&str],
    which: &[usize],
    [m, n, k]: [usize; 3],
) -> Result<(), Wrong> {
    let types: Vec<Scalar> = name.iter().filter_map(|part| super::alu::scalar(part)).collect();
    let (acc, factor) = match types[..] {
        [acc, _] => (acc, Scalar::F16),
        [acc, factor, ..] => (acc, factor),
        _ => return Err("a product of no types".into()),
    };
    let number = |ty: Scalar, bits: u64| {
        let wide = eval::scalar(Op::Convert, Scalar::F64, ty, &[bits]).unwrap_or(0);
        f64::from_bits(wide)
    };
    let a: Vec<f64> = gather(all, which, &ins.operands[1], factor).into_iter().map(|x| number(factor, x)).collect();
    let b: Vec<f64> = gather(all, which, &ins.operands[2], factor).into_iter().map(|x| number(factor, x)).collect();
    let c = gather(all, which, &ins.operands[3], acc);
    let mut result = vec![0; m * n];
    for row in 0..m {
        for column in 0..n {
            let start = number(acc, c[row * n + column]);
            let sum = (0..k).fold(start, |sum, i| sum + a[row * k + i] * b[i * n + column]);
            let rounded = eval::scalar(Op::Convert, acc, Scalar::F64, &[sum.to_bits()]);
            result[row * n + column] = rounded.ok_or("a sum that cannot be rounded")?;
        }
    }
    scatter(all, which, &ins.operands[0], acc, &result)
}
