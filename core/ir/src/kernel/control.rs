//! Control flow of a kernel: loops that carry values, branches that give some; and what is said to the compiler and to the host.

use super::{Block, TileKernel};
use crate::attrs::Attr;
use crate::function::{Inst, ValueId};
use crate::ops::Op;
use crate::types::{Scalar, Type};
use std::panic::Location;

impl TileKernel {
    /// A loop over `from`, `from + step`, .. below `end`, which are integers of one type. The body gets the counter and the carried values and gives what the next
    /// turn gets of these; the loop gives the last ones.
    #[track_caller]
    pub fn for_range<'k>(
        &'k self,
        [from, end, step]: [Block<'k>; 3],
        carried: &[Block<'k>],
        body: impl FnOnce(Block<'k>, &[Block<'k>]) -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        let carried = &self.own_all(carried)[..];
        let [from, end, step] = [self.own(from), self.own(end), self.own(step)];
        let bounds = [from, end, step].map(Block::ty);
        if !from.element().is_integer() || from.shape().is_some() || bounds.iter().any(|ty| *ty != bounds[0]) {
            let [a, b, c] = bounds;
            self.wrong(
                format!("a loop goes from `{a}` to `{b}` in steps of `{c}`"),
                "all three are integers of one type",
            );
            return carried.to_vec();
        }
        let mut initial = vec![from];
        initial.extend(carried);
        let place = Location::caller();
        self.repeat(
            &initial,
            1,
            |params| self.written_for(place, || params[0].ge(end)),
            |params| {
                let mut next = vec![self.written_for(place, || params[0] + step)];
                next.extend(body(params[0], &params[1..]));
                next
            },
        )
    }

    /// A loop as long as a condition on the carried values holds. The body gives what the next turn gets of these; the loop gives the last ones.
    #[track_caller]
    pub fn while_loop<'k>(
        &'k self,
        carried: &[Block<'k>],
        condition: impl FnOnce(&[Block<'k>]) -> Block<'k>,
        body: impl FnOnce(&[Block<'k>]) -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        let place = Location::caller();
        let is_over = |params: &[Block<'k>]| {
            let goes_on = condition(params);
            self.written_for(place, || !self.own(goes_on))
        };
        self.repeat(carried, 0, is_over, body)
    }

    /// A loop that ends with its parameters, without the first ones, where something holds at the beginning of a turn.
    #[track_caller]
    fn repeat<'k>(
        &'k self,
        initial: &[Block<'k>],
        hidden: usize,
        is_over: impl FnOnce(&[Block<'k>]) -> Block<'k>,
        body: impl FnOnce(&[Block<'k>]) -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        let initial = &self.own_all(initial)[..];
        let types: Vec<Type> = initial.iter().map(|block| block.ty()).collect();
        let place = Location::caller();
        let whole = |params: &[Block<'k>]| {
            let over = is_over(params);
            let results: Vec<ValueId> = params[hidden..].iter().map(|block| block.value).collect();
            self.written_for(place, || {
                self.with(|b| b.if_else(over.value, &[], |b| b.end(Op::Break, &results), |b| b.end(Op::Yield, &[])))
            });
            body(params)
        };
        let (region, next) = self.region(&types, whole, Op::Continue);
        self.agree(&types, &next, "the next turn of a loop");
        self.holding(Op::Loop, &[], initial, &[region], &types[hidden..])
    }

    /// What one of two arms gives.
    #[track_caller]
    pub fn if_else<'k>(
        &'k self,
        condition: Block<'k>,
        then: impl FnOnce() -> Vec<Block<'k>>,
        otherwise: impl FnOnce() -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        let (mut then, mut otherwise) = (Some(then), Some(otherwise));
        self.branch(condition, |holds| {
            let (then, otherwise) = if holds { (then.take(), None) } else { (None, otherwise.take()) };
            then.map(|arm| arm()).or_else(|| otherwise.map(|arm| arm())).unwrap_or_default()
        })
    }

    /// The same with one function, which writes first the arm where the condition holds, then the other one.
    #[track_caller]
    pub fn branch<'k>(&'k self, condition: Block<'k>, mut arm: impl FnMut(bool) -> Vec<Block<'k>>) -> Vec<Block<'k>> {
        let condition = self.own(condition);
        if condition.ty() != Type::BOOL {
            self.wrong(
                format!("a {} is no condition", condition.describe()),
                "it is one `bool`; use `select` for tiles",
            );
        }
        let (then, first) = self.region(&[], |_| arm(true), Op::Yield);
        let (otherwise, second) = self.region(&[], |_| arm(false), Op::Yield);
        let types: Vec<Type> = first.iter().map(|block| block.ty()).collect();
        self.agree(&types, &second, "the other arm");
        self.holding(Op::If, &[], &[condition], &[then, otherwise], &types)
    }

    #[track_caller]
    fn agree(&self, types: &[Type], given: &[Block<'_>], who: &str) {
        if !types.iter().copied().eq(given.iter().map(|block| block.ty())) {
            let list = |types: &[Type]| match types {
                [] => "nothing".to_owned(),
                some => some.iter().map(|ty| format!("`{ty}`")).collect::<Vec<_>>().join(", "),
            };
            let found: Vec<Type> = given.iter().map(|block| block.ty()).collect();
            let (wanted, found) = (list(types), list(&found));
            self.wrong(format!("{who} gives {found}, not {wanted}"), "both give the same types");
        }
    }

    /// Promises that a condition holds, for each element.
    #[track_caller]
    pub fn assume<'k>(&'k self, condition: Block<'k>) {
        let condition = self.own(condition);
        self.with(|b| b.end(Op::TileAssume, &[condition.value]));
    }

    /// Traps where a condition does not hold for some element, and says this.
    #[track_caller]
    pub fn assert<'k>(&'k self, condition: Block<'k>, text: &str) {
        self.saying(Op::TileAssert, text, &[condition]);
    }

    /// Prints values on the host, behind a text.
    #[track_caller]
    pub fn print<'k>(&'k self, text: &str, values: &[Block<'k>]) {
        self.saying(Op::TilePrint, text, values);
    }

    #[track_caller]
    fn saying<'k>(&'k self, op: Op, text: &str, values: &[Block<'k>]) {
        let operands: Vec<ValueId> = self.own_all(values).iter().map(|block| block.value).collect();
        self.with(|b| {
            let mut inst = Inst::new(op, None, &operands, b.span);
            inst.set(Attr::Text(text.into()));
            b.push(inst, &[]);
        });
    }
}

impl<'k> Block<'k> {
    /// The same with a promise for each dimension: runs of so many elements count up by one, or are equal ([`Attr::Contiguous`], [`Attr::Constancy`]), and the
    /// first of each is a multiple of a number ([`Attr::Multiple`]).
    #[track_caller]
    pub fn hint(self, promises: &[Attr]) -> Block<'k> {
        self.kernel.push(Op::TileHint, self.ty(), &[self.value], promises)
    }

    /// Whether it is a scalar of truth.
    pub fn is_condition(self) -> bool {
        self.ty() == Type::Scalar(Scalar::Bool)
    }
}
