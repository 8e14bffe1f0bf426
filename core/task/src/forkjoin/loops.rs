//! Loops on the way of a segment: those whose iterations stay in it are copied as one.

use super::copier::Around;
use super::points::Point;
use super::segments::{Path, Segment};
use crate::word::as_word;
use girih_base::diag::Diagnostic;
use girih_ir::{Inst, InstId, Op, Type, ValueId};

impl<'a> Segment<'a, '_, '_> {
    /// Goes into a loop: with these values, or with those that its parameters have.
    pub(super) fn iterate(
        &mut self,
        mut path: Path<'a>,
        id: InstId,
        initial: Option<&[ValueId]>,
    ) -> Result<(), Diagnostic> {
        let points = path.here.points.clone();
        let function = points.function;
        let body = function.insts[id].regions[0];
        let params = &function.regions[body].params;
        let initial = match initial {
            Some(initial) => initial.to_vec(),
            None => self.values(&mut path.here, params),
        };
        if !points.is_simple(id) {
            params.iter().zip(initial).for_each(|(param, value)| path.here.names.set(*param, vec![value]));
            return self.go_on(path, body, 0);
        }
        let results: Vec<Type> = function.insts[id].results.iter().map(|v| as_word(function.ty(*v))).collect();
        let (given, steps, over) = self.whole_loop(&mut path, id, &initial, &results);
        path.steps = steps;
        let zero = self.b.u32(0);
        let over = self.b.op(Op::Ne, Type::U32, &[over, zero]);
        let (values, carried) = given.split_at(results.len());
        self.both(path, over, |s, path| s.behind(path, id, values), |s, path| s.jump(path, Point::Head(id), carried))
    }

    /// Copies a loop as one that ends when it is over or no step is left. Gives its results and what it carries, the steps that are left,
    /// and whether it is over.
    fn whole_loop(
        &mut self,
        path: &mut Path<'a>,
        id: InstId,
        initial: &[ValueId],
        results: &[Type],
    ) -> (Vec<ValueId>, ValueId, ValueId) {
        let points = path.here.points.clone();
        let body = points.function.insts[id].regions[0];
        let old = &points.function.regions[body].params;
        let types: Vec<Type> =
            [Type::U32].into_iter().chain(old.iter().map(|v| as_word(points.function.ty(*v)))).collect();
        let region = self.b.new_region(&types);
        let params = self.b.function.regions[region].params.clone();
        let (steps, carried) = (params[0], &params[1..]);
        old.iter().zip(carried).for_each(|(old, new)| path.here.names.set(*old, vec![*new]));
        let outer = std::mem::replace(&mut self.b.region, region);
        let mut facts = path.facts.clone();
        let around = Around { steps, results, carried };
        let mut copier = self.copier(&mut path.here, &mut facts, Some(around));
        for inner in &points.function.regions[body].insts {
            copier.copy(*inner);
        }
        self.b.region = outer;
        let given: Vec<ValueId> = [path.steps].iter().chain(initial).copied().collect();
        let mut inst = Inst::new(Op::Loop, None, &given, self.b.span);
        inst.regions.extend([region]);
        let all: Vec<Type> = [Type::U32; 2].iter().chain(results).chain(&types[1..]).copied().collect();
        let made = self.b.push(inst, &all);
        let given = self.b.function.insts[made].results.clone();
        (given[2..].to_vec(), given[1], given[0])
    }
}
