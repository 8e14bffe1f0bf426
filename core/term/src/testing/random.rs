//! Random programs of the lambda core, which hold everything that runs or analyses programs to each other.
//!
//! They are well typed, without recursion, and so end; they may divide by zero and contain `*`.

use super::source::program;
use crate::ty::{Scheme, Type};
use crate::*;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::num::{BinOp, Num, NumKind};
use girih_base::prim::Prim;
use girih_base::span::Span;

const TYPES: &str = "(type Opt (None) (Some v)) (type Shape (Point) (Line a) (Box a b) (Solid a b c)) (def main () 0)";

/// The types of the generated terms. A `Shape` has fields that are numbers.
#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Num,
    Shape,
    Opt(Box<Kind>),
    Pair(Box<Kind>, Box<Kind>),
    Function(Vec<Kind>, Box<Kind>),
    Delay(Box<Kind>),
}

struct Generator {
    state: u64,
    program: Program,
    /// The definitions so far, which the next ones may use.
    defs: Vec<(DefId, Kind)>,
    locals: IndexVec<LocalId, Local>,
    scope: Vec<(LocalId, Kind)>,
    /// How many more terms the definition may have.
    budget: u32,
}

impl Generator {
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.state >> 33) as usize) % bound
    }

    fn kind(&mut self, depth: u32) -> Kind {
        match if depth == 0 { self.below(5) } else { self.below(11) } {
            0..=3 => Kind::Num,
            4 => Kind::Shape,
            5 | 6 => Kind::Opt(Box::new(self.kind(depth - 1))),
            7 => Kind::Pair(Box::new(self.kind(depth - 1)), Box::new(self.kind(depth - 1))),
            8 | 9 => {
                let count = 1 + self.below(3);
                let params = (0..count).map(|_| self.kind(depth - 1)).collect();
                Kind::Function(params, Box::new(self.kind(depth - 1)))
            }
            _ => Kind::Delay(Box::new(self.kind(depth - 1))),
        }
    }

    fn bind(&mut self, kind: Kind) -> LocalId {
        let name = Name::new(format!("x{}", self.locals.len()));
        let local = self.locals.push(Local { name, span: Span::NONE });
        self.scope.push((local, kind));
        local
    }

    fn ctor(&self, name: &str) -> CtorId {
        let named = self.program.ctors.iter_enumerated().find(|(_, ctor)| ctor.name == name);
        named.expect("a constructor of the test").0
    }

    /// A term whose scope ends with it.
    fn term(&mut self, kind: &Kind) -> Term {
        let depth = self.scope.len();
        let term = Term::new(self.form(kind), Span::NONE);
        self.scope.truncate(depth);
        term
    }

    fn terms(&mut self, kinds: &[Kind]) -> Vec<Term> {
        kinds.iter().map(|kind| self.term(kind)).collect()
    }

    fn form(&mut self, kind: &Kind) -> TermKind {
        if self.budget == 0 {
            return self.leaf(kind);
        }
        self.budget -= 1;
        match self.below(20) {
            0..=5 => self.leaf(kind),
            6 | 7 => self.let_(kind),
            8 => self.choose_opt(kind),
            9 => self.choose_shape(kind),
            10 | 11 => self.choose_number(kind),
            12 | 13 => self.call(kind),
            14 if self.below(8) == 0 => TermKind::Era,
            14 => TermKind::Apply(Box::new(self.term(&Kind::Delay(Box::new(kind.clone())))), vec![]),
            _ => self.build(kind),
        }
    }

    /// A variable or a definition of the kind if there is one, else a small value.
    fn leaf(&mut self, kind: &Kind) -> TermKind {
        let locals: Vec<LocalId> = self.scope.iter().filter(|(_, k)| k == kind).map(|(local, _)| *local).collect();
        let defs: Vec<DefId> = self.defs.iter().filter(|(_, k)| k == kind).map(|(def, _)| *def).collect();
        match (self.below(4), locals.len(), defs.len()) {
            (0..=2, 1.., _) => TermKind::Local(locals[self.below(locals.len())]),
            (0..=2, _, 1..) => TermKind::Global(defs[self.below(defs.len())]),
            _ if *kind == Kind::Num => TermKind::Num(Num::U24(self.below(6) as u32)),
            _ => self.build(kind),
        }
    }

    fn build(&mut self, kind: &Kind) -> TermKind {
        match kind {
            Kind::Num if self.budget == 0 => TermKind::Num(Num::U24(self.below(6) as u32)),
            Kind::Num => {
                let op = BinOp::ALL[self.below(17)];
                let op = if op == BinOp::Pow { BinOp::Add } else { op };
                let a = self.term(kind);
                let b = self.term(kind);
                if self.below(12) == 0 {
                    return TermKind::Prim(Prim::To(NumKind::U24), vec![a]);
                }
                TermKind::Op(op, Box::new(a), Box::new(b))
            }
            Kind::Shape => {
                let tag = self.below(4);
                let ctor = self.ctor(["Point", "Line", "Box", "Solid"][tag]);
                TermKind::Ctor(ctor, self.terms(&vec![Kind::Num; tag]))
            }
            Kind::Opt(_) if self.below(4) == 0 => TermKind::Ctor(self.ctor("None"), vec![]),
            Kind::Opt(inner) => TermKind::Ctor(self.ctor("Some"), vec![self.term(inner)]),
            Kind::Pair(first, second) => match &**second {
                Kind::Pair(second, third) if self.below(2) == 0 => {
                    TermKind::Tuple(self.terms(&[(**first).clone(), (**second).clone(), (**third).clone()]))
                }
                second => TermKind::Tuple(self.terms(&[(**first).clone(), second.clone()])),
            },
            Kind::Function(params, result) => {
                let locals = params.iter().map(|param| self.bind(param.clone())).collect();
                TermKind::Lambda(locals, Box::new(self.term(result)))
            }
            Kind::Delay(inner) => TermKind::Lambda(vec![], Box::new(self.term(inner))),
        }
    }

    fn let_(&mut self, kind: &Kind) -> TermKind {
        let mut binds = vec![];
        for _ in 0..1 + self.below(3) {
            let bound = self.kind(2);
            let value = self.term(&bound);
            let target = match &bound {
                Kind::Pair(first, second) if self.below(3) > 0 => {
                    let second = (**second).clone();
                    let first = self.part((**first).clone());
                    match second {
                        Kind::Pair(second, third) if self.below(2) == 0 => {
                            let second = self.part(*second);
                            Target::Tuple(vec![first, second, self.part(*third)])
                        }
                        second => Target::Tuple(vec![first, self.part(second)]),
                    }
                }
                _ if self.below(6) == 0 => {
                    let first = self.part(bound.clone());
                    Target::Dup(vec![first, self.part(bound.clone())])
                }
                _ => Target::Var(self.bind(bound.clone())),
            };
            binds.push(Bind { target, value });
        }
        TermKind::Let(binds, Box::new(self.term(kind)))
    }

    fn part(&mut self, kind: Kind) -> Option<LocalId> {
        (self.below(5) > 0).then(|| self.bind(kind))
    }

    fn choose_opt(&mut self, kind: &Kind) -> TermKind {
        let inner = self.kind(1);
        let opt = Kind::Opt(Box::new(inner.clone()));
        let scrutinee = self.term(&opt);
        let depth = self.scope.len();
        let whole = (self.below(2) == 0).then(|| self.bind(opt));
        let field = self.bind(inner);
        let some = Arm { ctor: self.ctor("Some"), whole, fields: vec![field], body: self.term(kind) };
        self.scope.truncate(depth);
        let none = self.term(kind);
        let ty = self.program.ctors[some.ctor].ty;
        let (arms, default) = if self.below(2) == 0 {
            (vec![some], Some(none))
        } else {
            (vec![Arm { ctor: self.ctor("None"), whole: None, fields: vec![], body: none }, some], None)
        };
        TermKind::Match(Box::new(Match { scrutinee, ty, arms, default }))
    }

    fn choose_shape(&mut self, kind: &Kind) -> TermKind {
        let scrutinee = self.term(&Kind::Shape);
        let mut arms = vec![];
        let mut left_out = false;
        for (count, name) in ["Point", "Line", "Box", "Solid"].into_iter().enumerate() {
            if self.below(5) == 0 {
                left_out = true;
                continue;
            }
            let depth = self.scope.len();
            let fields = (0..count).map(|_| self.bind(Kind::Num)).collect();
            let whole = (self.below(4) == 0).then(|| self.bind(Kind::Shape));
            arms.push(Arm { ctor: self.ctor(name), whole, fields, body: self.term(kind) });
            self.scope.truncate(depth);
        }
        let default = left_out.then(|| self.term(kind));
        let ty = self.program.ctors[self.ctor("Point")].ty;
        TermKind::Match(Box::new(Match { scrutinee, ty, arms, default }))
    }

    fn choose_number(&mut self, kind: &Kind) -> TermKind {
        let scrutinee = self.term(&Kind::Num);
        let keys: &[u32] = [&[0][..], &[0, 1, 2], &[2, 0, 1], &[7, 3], &[1]][self.below(5)];
        let cases = keys.iter().map(|&key| (key, self.term(kind))).collect();
        let depth = self.scope.len();
        let pred = (self.below(2) == 0).then(|| self.bind(Kind::Num));
        let default = self.term(kind);
        self.scope.truncate(depth);
        TermKind::Switch(Box::new(Switch { scrutinee, cases, pred, default }))
    }

    /// A call in one, two or three portions.
    fn call(&mut self, kind: &Kind) -> TermKind {
        let functions: Vec<(TermKind, Vec<Kind>)> = self
            .scope
            .iter()
            .map(|(local, kind)| (TermKind::Local(*local), kind))
            .chain(self.defs.iter().map(|(def, kind)| (TermKind::Global(*def), kind)))
            .filter_map(|(term, found)| match found {
                Kind::Function(params, result) if **result == *kind => Some((term, params.clone())),
                _ => None,
            })
            .collect();
        let (function, params) = if functions.is_empty() || self.below(4) == 0 {
            let params: Vec<Kind> = (0..1 + self.below(3)).map(|_| self.kind(1)).collect();
            (self.term(&Kind::Function(params.clone(), Box::new(kind.clone()))).kind, params)
        } else {
            functions[self.below(functions.len())].clone()
        };
        let mut function = Term::new(function, Span::NONE);
        let mut args = self.terms(&params);
        while args.len() > 1 && self.below(3) == 0 {
            let rest = args.split_off(1 + self.below(args.len() - 1));
            let portion = std::mem::replace(&mut args, rest);
            function = Term::new(TermKind::Apply(Box::new(function), portion), Span::NONE);
        }
        TermKind::Apply(Box::new(function), args)
    }

    fn define(&mut self, name: &str, params: &[Kind], result: &Kind) -> DefId {
        self.locals = IndexVec::new();
        self.scope.clear();
        self.budget = 40;
        let locals = params.iter().map(|param| self.bind(param.clone())).collect();
        let body = self.term(result);
        self.program.defs.push(Def {
            name: Name::new(name),
            span: Span::NONE,
            origin: Origin::User,
            check: false,
            ty: Scheme::mono(Type::Any),
            params: locals,
            locals: std::mem::take(&mut self.locals),
            body: Body::Term(body),
        })
    }
}

/// The program of a seed; its entry is `start`, without parameters.
pub fn random_program(seed: u64) -> Program {
    let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    let (locals, scope) = (IndexVec::new(), vec![]);
    let mut generator = Generator { state, program: program(TYPES), defs: vec![], locals, scope, budget: 0 };
    for i in 0..6 {
        let params: Vec<Kind> = (0..generator.below(4)).map(|_| generator.kind(2)).collect();
        let result = generator.kind(2);
        let def = generator.define(&format!("f{i}"), &params, &result);
        let kind = if params.is_empty() { result } else { Kind::Function(params, Box::new(result)) };
        generator.defs.push((def, kind));
    }
    let result = Kind::Pair(Box::new(Kind::Num), Box::new(Kind::Opt(Box::new(Kind::Shape))));
    let main = generator.define("start", &[], &result);
    generator.program.entry = Some(main);
    generator.program
}
