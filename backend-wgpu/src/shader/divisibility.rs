//! What numbers are multiples of: fragments that begin where a vector does can be reached through arrays of vectors.

use girih_base::hash::FastMap;
use girih_ir::groups::{not_control, other_control};
use girih_ir::{Def, Function, Inst, Op, RegionId, ValueId};

/// Multiples of powers of two among the values of a function.
pub struct Multiples<'f> {
    f: &'f Function,
    /// For each loop's body what its iterations begin with.
    loops: FastMap<RegionId, Vec<Vec<ValueId>>>,
}

/// So far back values are looked at.
const STEPS: u32 = 24;

impl<'f> Multiples<'f> {
    /// For the values of this function.
    pub fn of(f: &'f Function) -> Multiples<'f> {
        let mut loops: FastMap<RegionId, Vec<Vec<ValueId>>> = FastMap::default();
        f.walk(f.body, &mut |_, inst| {
            if inst.op == Op::Loop {
                let body = inst.regions[0];
                let begins = loops.entry(body).or_default();
                begins.push(inst.operands.to_vec());
                nexts(f, body, begins);
            }
        });
        Multiples { f, loops }
    }

    /// Whether a number is a multiple of a power of two, given as its logarithm.
    pub fn has(&self, value: ValueId, log: u32) -> bool {
        self.holds(value, log, &mut vec![], STEPS)
    }

    /// The same, where some values are taken to be multiples because that is what is being shown.
    fn holds(&self, value: ValueId, log: u32, assumed: &mut Vec<(ValueId, u32)>, steps: u32) -> bool {
        if log == 0 {
            return true;
        }
        match self.f.values[value].def {
            Def::Constant(bits) => bits.trailing_zeros() >= log,
            Def::Param(attrs) => attrs.divisible > 0 && attrs.divisible.trailing_zeros() >= log,
            Def::Argument(region, position) => {
                if assumed.iter().any(|(known, at)| *known == value && *at >= log) {
                    return true;
                }
                let Some(begins) = self.loops.get(&region).filter(|_| steps > 0) else { return false };
                assumed.push((value, log));
                begins
                    .iter()
                    .all(|list| list.get(position as usize).is_some_and(|v| self.holds(*v, log, assumed, steps - 1)))
            }
            Def::Result(id, _) if steps > 0 => self.result(&self.f.insts[id], log, assumed, steps - 1),
            Def::Result(..) | Def::Specialisation(_) | Def::Memory(_) => false,
        }
    }

    fn result(&self, inst: &Inst, log: u32, assumed: &mut Vec<(ValueId, u32)>, steps: u32) -> bool {
        if !inst.ty.and_then(|ty| ty.element()).is_some_and(|s| s.is_integer() && s.bits() >= log) {
            return false;
        }
        let mut known = |position: usize, log: u32| self.holds(inst.operands[position], log, assumed, steps);
        let constant = |position: usize| self.f.as_constant(inst.operands[position]);
        match inst.op {
            Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Min | Op::Max => known(0, log) && known(1, log),
            Op::Select => known(1, log) && known(2, log),
            Op::And => known(0, log) || known(1, log),
            Op::Mul => (0..=log).any(|own| known(0, own) && known(1, log - own)),
            Op::Shl => constant(1).is_some_and(|by| known(0, log.saturating_sub(by.min(64) as u32))),
            Op::Shr => constant(1).is_some_and(|by| by < 32 && known(0, log + by as u32)),
            Op::Convert => self.is_integer(inst.operands[0]) && known(0, log),
            _no_rule => false,
        }
    }

    fn is_integer(&self, value: ValueId) -> bool {
        self.f.ty(value).element().is_some_and(|s| s.is_integer())
    }
}

/// What the next iterations of a loop begin with; loops inside have their own.
fn nexts(f: &Function, region: RegionId, begins: &mut Vec<Vec<ValueId>>) {
    for id in &f.regions[region].insts {
        let inst = &f.insts[*id];
        match inst.op {
            Op::Continue => begins.push(inst.operands.to_vec()),
            Op::While => begins.push(inst.operands[1..].to_vec()),
            Op::Loop => {}
            Op::If | Op::Switch | Op::Yield | Op::Break | not_control!() | other_control!() => {
                inst.regions.iter().for_each(|inner| nexts(f, *inner, begins))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_base::span::SourceId;
    use girih_ir::text;

    #[test]
    fn multiples_go_through_arithmetic_and_loops() {
        let source = "kernel @k(%out: buffer, %n: u32 divisible(8)) workgroup(32) {
          %i = local_index
          %a = mul.u32 (shr.u32 %i, 3), 40
          %end: u32 = loop (%at: u32 = 0) {
            %next = select.u32 (eq.u32 %at, 64), 0, (add.u32 %at, 32)
            store.u32 %out[(add.u32 %at, %a)], %i
            store.u32 %out[(add.u32 %next, %i)], %n
            if (gt.u32 %i, 5) {
              break %next
            }
            continue %next
          }
          store.u32 %out[(add.u32 (and.u32 %end, 96), %n)], %a
        }";
        let module = text::parse(SourceId::new(0), source).unwrap_or_else(|e| panic!("{e:?}")).module;
        let f = module.functions.iter().next().expect("a kernel");
        let multiples = Multiples::of(f);
        let mut found = vec![];
        f.walk(f.body, &mut |_, inst| {
            if inst.op == Op::Store {
                let most = (0..=8).rev().find(|log| multiples.has(inst.operands[1], *log));
                found.push(most);
            }
        });
        assert_eq!(found, [Some(3), Some(0), Some(3)]);
    }
}
