//! Matches and switches: each arm is a definition, called when it is chosen with what it needs of its surroundings.
//!
//! All arms of a choice are given the same values, those that any of them needs; who does not need one erases it. An arm that needs
//! nothing is given `*`, so that it is not computed before it is chosen; one that is a value already is just that value. An arm that a
//! scopeless variable enters or leaves stays where it is.

use super::Meaning;
use super::body::Lowerer;
use super::scope::{free, is_open};
use super::unit::{self, Unit};
use girih_base::name::Name;
use girih_base::num::{BinOp, Num};
use girih_term::hvm::ast::{Operator, Tree};
use girih_term::{CtorId, LocalId, Match, Switch, Term, TermKind};
use std::collections::BTreeSet;

/// What all arms of a choice are given.
struct Shared {
    /// The variables.
    locals: Vec<LocalId>,
    /// Whether they are given `*`, so that they are given something.
    nothing: bool,
}

/// An arm.
struct Arm<'p> {
    /// What it is given for itself: fields, or the predecessor.
    own: Vec<LocalId>,
    /// A name for the whole value.
    whole: Option<(LocalId, CtorId)>,
    body: &'p Term,
}

impl Arm<'_> {
    fn needs(&self) -> BTreeSet<LocalId> {
        let mut needs = free(self.body);
        needs.retain(|local| !self.own.contains(local) && self.whole.is_none_or(|(whole, _)| whole != *local));
        needs
    }

    /// Whether it is a value that may stand where it is, if nothing is given to it.
    fn is_value(&self) -> bool {
        match &self.body.kind {
            TermKind::Num(_) | TermKind::Era => true,
            TermKind::Ctor(_, fields) => fields.is_empty(),
            TermKind::List(items) => items.is_empty(),
            _ => false,
        }
    }
}

impl<'p> Lowerer<'_, 'p> {
    /// A match: the value is applied to a function of the tag, which gives the arm that belongs to it.
    pub(super) fn choose(&mut self, unit: &mut Unit, m: &'p Match) -> Tree {
        let scrutinee = self.term(unit, &m.scrutinee);
        let program = self.lowering.program;
        let ctors = program.types[m.ty].ctors.clone();
        let arm_of = |ctor: CtorId| m.arms.iter().find(|arm| arm.ctor == ctor);
        let arm = |arm: &'p girih_term::Arm| Arm {
            own: arm.fields.clone(),
            whole: arm.whole.map(|whole| (whole, arm.ctor)),
            body: &arm.body,
        };
        let default = m.default.as_ref().map(|body| Arm { own: vec![], whole: None, body });
        let arms: Vec<Arm<'p>> = m.arms.iter().map(arm).collect();
        let shared = self.shared(arms.iter().chain(&default));
        let mut otherwise = None;
        let mut trees = vec![];
        for ctor in ctors {
            trees.push(match arm_of(ctor) {
                Some(found) => self.arm(unit, &arm(found), &shared),
                None => {
                    let rest = match (&otherwise, &default) {
                        (Some(tree), _) => Tree::clone(tree),
                        (None, Some(default)) => self.arm(unit, default, &shared),
                        (None, None) => Tree::Era,
                    };
                    // A reference, or a value without wires: it may stand several times.
                    if matches!(rest, Tree::Ref(_) | Tree::Num(_) | Tree::Era) {
                        otherwise = Some(rest.clone());
                    }
                    let fields = program.ctors[ctor].fields.iter().map(|_| Tree::Era).collect();
                    unit::function(vec![], fields, rest)
                }
            });
        }
        let last = trees.pop().unwrap_or(Tree::Era);
        let last = Tree::Con(Box::new(Tree::Era), Box::new(last));
        let select = trees.into_iter().rev().fold(last, |rest, arm| by_number(unit, arm, rest));
        let mut given = vec![select];
        given.extend(self.given_to_arms(unit, &shared));
        unit.apply(scrutinee, given)
    }

    /// A switch: the number chooses among the arms.
    pub(super) fn switch(&mut self, unit: &mut Unit, s: &'p Switch) -> Tree {
        let in_order = s.cases.iter().enumerate().all(|(i, (value, _))| *value as usize == i) && !s.cases.is_empty();
        let cases = s.cases.iter().map(|(_, body)| Arm { own: vec![], whole: None, body });
        let cases: Vec<Arm<'p>> = cases.collect();
        let default = Arm { own: s.pred.into_iter().collect(), whole: None, body: &s.default };
        let shared = self.shared(cases.iter().chain([&default]));
        let number = self.term(unit, &s.scrutinee);
        let trees: Vec<Tree> = cases.iter().map(|arm| self.arm(unit, arm, &shared)).collect();
        let otherwise = self.arm(unit, &default, &shared);
        let given = self.given_to_arms(unit, &shared);
        let result = unit.wire();
        let taker = unit::function(vec![], given, Tree::Var(result.clone()));
        if in_order {
            let rest = match s.pred {
                Some(_) => otherwise,
                None => Tree::Con(Box::new(Tree::Era), Box::new(otherwise)),
            };
            let mut trees = trees.into_iter();
            let first = trees.next().unwrap_or(Tree::Era);
            let rest = trees.rev().fold(rest, |rest, arm| by_number(unit, arm, rest));
            let choice = Tree::Con(Box::new(first), Box::new(rest));
            unit.link(number, Tree::Swi(Box::new(choice), Box::new(taker)));
        } else {
            let values = s.cases.iter().map(|(value, _)| *value).zip(trees).collect();
            let chosen = self.by_values(unit, number, values, otherwise, s);
            unit.link(chosen, taker);
        }
        Tree::Var(result)
    }

    /// The arm for one of some values, or the default, which is given the predecessor if it asks for that.
    fn by_values(
        &mut self,
        unit: &mut Unit,
        number: Tree,
        arms: Vec<(u32, Tree)>,
        default: Tree,
        s: &'p Switch,
    ) -> Tree {
        let mut copies = unit.wires(arms.len() + 1);
        let spare = copies.pop();
        let last = match (spare, s.pred) {
            (Some(wire), Some(_)) => {
                let beyond = s.cases.iter().map(|(value, _)| value + 1).max().unwrap_or(0);
                let less = unit.wire();
                let minus = Tree::Operator(Operator::Flipped(BinOp::Sub, Num::u24(beyond)));
                unit.link(Tree::Var(wire.clone()), Tree::Opr(Box::new(minus), Box::new(Tree::Var(less.clone()))));
                (unit.apply(default, vec![Tree::Var(less)]), Tree::Var(wire))
            }
            _ => (default, Tree::Era),
        };
        let (mut chosen, mut binder) = last;
        for ((value, arm), wire) in arms.into_iter().zip(copies).rev() {
            let (equal, result) = (unit.wire(), unit.wire());
            let test = Tree::Operator(Operator::Partial(BinOp::Eq, Num::u24(value)));
            unit.link(Tree::Var(wire.clone()), Tree::Opr(Box::new(test), Box::new(Tree::Var(equal.clone()))));
            let then = Tree::Con(Box::new(Tree::Era), Box::new(arm));
            let choice = Tree::Con(Box::new(chosen), Box::new(then));
            unit.link(Tree::Var(equal), Tree::Swi(Box::new(choice), Box::new(Tree::Var(result.clone()))));
            chosen = Tree::Var(result);
            binder = match binder {
                Tree::Era => Tree::Var(wire),
                binder => Tree::Copy(Box::new(Tree::Var(wire)), Box::new(binder)),
            };
        }
        unit.link(number, binder);
        chosen
    }

    fn shared<'a>(&self, arms: impl Iterator<Item = &'a Arm<'p>>) -> Shared
    where
        'p: 'a,
    {
        let arms: Vec<&Arm<'p>> = arms.collect();
        let closed = arms.iter().filter(|arm| !is_open(arm.body));
        let locals: BTreeSet<LocalId> = closed.flat_map(|arm| arm.needs()).collect();
        let waits = |arm: &&Arm<'p>| arm.own.is_empty() && !arm.is_value();
        let nothing = locals.is_empty() && arms.iter().any(waits);
        Shared { locals: locals.into_iter().collect(), nothing }
    }

    fn given_to_arms(&mut self, unit: &mut Unit, shared: &Shared) -> Vec<Tree> {
        let nothing = shared.nothing.then_some(Tree::Era);
        shared.locals.iter().map(|local| unit.take(*local)).chain(nothing).collect()
    }

    /// An arm as a function of what is its own and what all are given.
    fn arm(&mut self, unit: &mut Unit, arm: &Arm<'p>, shared: &Shared) -> Tree {
        let nothing = shared.nothing.then_some(Tree::Era);
        if is_open(arm.body) {
            let given = shared.locals.iter().map(|_| Tree::Era).chain(nothing);
            let value = self.arm_value(unit, arm);
            let own: Vec<Tree> = arm.own.iter().map(|local| unit.binder(*local)).collect();
            return unit::function(vec![], own.into_iter().chain(given).collect(), value);
        }
        if arm.own.is_empty() && shared.locals.is_empty() && !shared.nothing {
            return self.term(unit, arm.body);
        }
        let name = Name::from(format!("{}__C{}", self.lowering.program.defs[self.def].name, self.arms));
        self.arms += 1;
        self.lowering.meanings.insert(name.clone(), Meaning::Arm);
        let mut inner = Unit::default();
        let value = self.arm_value(&mut inner, arm);
        let locals = arm.own.iter().chain(&shared.locals);
        let params: Vec<Tree> = locals.map(|local| inner.binder(*local)).chain(nothing).collect();
        let net = inner.net(unit::function(vec![], params, value));
        self.lowering.push(name.clone(), arm.body.span, net);
        Tree::Ref(name)
    }

    /// The body of an arm; the whole value is put together again if it has a name that is used.
    fn arm_value(&mut self, unit: &mut Unit, arm: &Arm<'p>) -> Tree {
        let value = self.term(unit, arm.body);
        if let Some((whole, ctor)) = arm.whole {
            match unit.binder(whole) {
                Tree::Era => {}
                binder => {
                    let fields = arm.own.iter().map(|field| unit.take(*field)).collect();
                    let data = self.lowering.data(unit, ctor, fields);
                    unit.link(data, binder);
                }
            }
        }
        value
    }
}

/// A function of a number: an arm for 0, and what is given the predecessor.
fn by_number(unit: &mut Unit, arm: Tree, rest: Tree) -> Tree {
    let result = unit.wire();
    let choice = Tree::Con(Box::new(arm), Box::new(rest));
    let switch = Tree::Swi(Box::new(choice), Box::new(Tree::Var(result.clone())));
    Tree::Con(Box::new(switch), Box::new(Tree::Var(result)))
}
