//! Random programs, well typed and ill typed.

use super::member::{Score, follow};
use super::programs::{on_large_stack, prepared};
use girih_base::idx::Idx;
use girih_base::num::{BinOp, Num};
use girih_task::flow::Precision;
use girih_term::testing::random::random_program;
use girih_term::{Body, CtorId, DefId, Program, Term, TermKind, TypeId};

/// Changes terms at random, so that types and numbers of arguments do not fit any more.
struct Spoiler<'p> {
    state: u64,
    original: &'p Program,
}

impl Spoiler<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.state >> 33) as usize) % bound
    }

    fn spoil(&mut self, program: &mut Program) {
        for def in program.defs.ids() {
            // A definition only mentions earlier ones, so that all programs end or are stopped.
            let Body::Term(body) = &mut program.defs[def].body else { continue };
            let mut todo = vec![body];
            while let Some(term) = todo.pop() {
                if self.below(8) == 0 {
                    self.term(term, def);
                }
                todo.extend(term.children_mut());
            }
        }
    }

    fn term(&mut self, term: &mut Term, def: DefId) {
        let span = term.span;
        let old = std::mem::replace(&mut term.kind, TermKind::Era);
        let take = |kind: TermKind| Box::new(Term::new(kind, span));
        let number = |this: &mut Self| TermKind::Num(Num::U24(this.below(4) as u32));
        let more = Term::new(number(self), span);
        term.kind = match self.below(14) {
            0 => number(self),
            1 => TermKind::Num(Num::f24(0.5)),
            2 => TermKind::Tuple(vec![*take(old), more]),
            3 => TermKind::Apply(take(old), vec![more]),
            4 => TermKind::Apply(take(old), vec![more.clone(), more]),
            5 => TermKind::Apply(take(old), vec![]),
            6 => self.choice(*take(old)),
            7 => self.ctor(*take(old)),
            8 => TermKind::Global(DefId::from_usize(self.below(def.index().max(1)))),
            9 => {
                let other = TermKind::Global(DefId::from_usize(self.below(def.index().max(1))));
                TermKind::Apply(take(other), vec![*take(old)])
            }
            // A term that binds variables stands in one place only.
            10 if matches!(old, TermKind::Local(_)) => TermKind::Apply(take(old.clone()), vec![*take(old)]),
            11 => TermKind::Op(BinOp::Add, take(old), take(TermKind::Num(Num::U32(1)))),
            12 => TermKind::Era,
            _ => old,
        };
    }

    /// A constructor whose first field is a term.
    fn ctor(&mut self, term: Term) -> TermKind {
        let span = term.span;
        let id = CtorId::from_usize(self.below(self.original.ctors.len()));
        let fields = self.original.ctors[id].fields.len();
        let more = std::iter::repeat_with(|| Term::new(TermKind::Num(Num::U24(1)), span));
        TermKind::Ctor(id, std::iter::once(term).chain(more).take(fields).collect())
    }

    /// A match on a term as if it were of some type.
    fn choice(&mut self, scrutinee: Term) -> TermKind {
        let span = scrutinee.span;
        let ty = TypeId::from_usize(self.below(self.original.types.len()));
        let default = Some(Term::new(TermKind::Num(Num::U24(7)), span));
        TermKind::Match(Box::new(girih_term::Match { scrutinee, ty, arms: vec![], default }))
    }
}

#[test]
fn values_of_random_programs_are_in_their_sets() {
    let mut score = Score::default();
    on_large_stack(|| {
        for seed in 0..2000 {
            follow(&prepared(random_program(seed)).expect("a program without nets"), Precision::default(), &mut score);
        }
    });
    assert!(score.checks > 40_000, "{score:?}");
}

#[test]
fn values_of_ill_typed_programs_are_in_their_sets() {
    let mut score = Score::default();
    on_large_stack(|| {
        for seed in 0..4000 {
            let original = random_program(seed % 500);
            let mut program = original.clone();
            Spoiler { state: seed, original: &original }.spoil(&mut program);
            let program = prepared(program).expect("a program without nets");
            follow(&program, Precision::default(), &mut score);
        }
    });
    println!("{score:?}");
    assert!(score.checks > 50_000, "{score:?}");
}
