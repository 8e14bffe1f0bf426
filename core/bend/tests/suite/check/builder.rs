//! Programs made by hand out of terms, for what text cannot say or should not depend on the front end.

use girih_base::diag::{Code, Diagnostics};
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::num::{BinOp, LiteralValue, NumKind};
use girih_base::span::Span;
use girih_bend::check::check;
use girih_term::ty::{Scheme, Type, letter};
use girih_term::{
    Arm, Bind, Body, Ctor, CtorId, DataType, Def, DefId, FieldInfo, Local, LocalId, Match, Origin, Program, Switch,
    Target, Term, TermKind, TypeId,
};

pub const U24: Type = Type::Num(NumKind::U24);
pub const I24: Type = Type::Num(NumKind::I24);
pub const F24: Type = Type::Num(NumKind::F24);
pub const U32: Type = Type::Num(NumKind::U32);
pub const F32: Type = Type::Num(NumKind::F32);

pub fn param(i: u32) -> Type {
    Type::Param(i)
}

pub fn arrow<const N: usize>(types: [Type; N]) -> Type {
    let mut types = types.to_vec();
    let result = types.pop().expect("an arrow has a result");
    Type::function(types, result)
}

pub fn term(kind: TermKind) -> Term {
    Term::new(kind, Span::NONE)
}

/// A literal without sign.
pub fn n(value: u32) -> Term {
    term(TermKind::Literal(LiteralValue::Unsigned(value)))
}

pub fn float(value: f32) -> Term {
    term(TermKind::Literal(LiteralValue::Float(value)))
}

/// The local variable of this number; parameters come first.
pub fn v(local: u32) -> Term {
    term(TermKind::Local(LocalId::new(local)))
}

pub fn g(def: DefId) -> Term {
    term(TermKind::Global(def))
}

pub fn text() -> Term {
    term(TermKind::Str("text".into()))
}

pub fn list<const N: usize>(parts: [Term; N]) -> Term {
    term(TermKind::List(parts.into()))
}

pub fn tuple<const N: usize>(parts: [Term; N]) -> Term {
    term(TermKind::Tuple(parts.into()))
}

pub fn ctor<const N: usize>(ctor: CtorId, fields: [Term; N]) -> Term {
    term(TermKind::Ctor(ctor, fields.into()))
}

pub fn call<const N: usize>(head: Term, arguments: [Term; N]) -> Term {
    term(TermKind::Apply(Box::new(head), arguments.into()))
}

pub fn op(op: BinOp, left: Term, right: Term) -> Term {
    term(TermKind::Op(op, Box::new(left), Box::new(right)))
}

pub fn add(left: Term, right: Term) -> Term {
    op(BinOp::Add, left, right)
}

pub fn lambda<const N: usize>(params: [u32; N], body: Term) -> Term {
    term(TermKind::Lambda(params.map(LocalId::new).into(), Box::new(body)))
}

pub fn let_var(local: u32, value: Term, result: Term) -> Term {
    let_in(Target::Var(LocalId::new(local)), value, result)
}

pub fn let_in(target: Target, value: Term, result: Term) -> Term {
    term(TermKind::Let(vec![Bind { target, value }], Box::new(result)))
}

pub fn switch(scrutinee: Term, zero: Term, pred: Option<u32>, default: Term) -> Term {
    let pred = pred.map(LocalId::new);
    term(TermKind::Switch(Box::new(Switch { scrutinee, cases: vec![(0, zero)], pred, default })))
}

pub fn match_on<const N: usize>(scrutinee: Term, ty: TypeId, arms: [(CtorId, Option<u32>, Vec<u32>, Term); N]) -> Term {
    let arm = |(ctor, whole, fields, body): (CtorId, Option<u32>, Vec<u32>, Term)| Arm {
        ctor,
        whole: whole.map(LocalId::new),
        fields: fields.into_iter().map(LocalId::new).collect(),
        body,
    };
    term(TermKind::Match(Box::new(Match { scrutinee, ty, arms: arms.map(arm).into(), default: None })))
}

/// A program with `String`, `List` and `Result`.
pub struct Build {
    pub program: Program,
    pub list: TypeId,
    pub result: TypeId,
    pub nil: CtorId,
    pub cons: CtorId,
    pub ok: CtorId,
    pub err: CtorId,
}

impl Build {
    pub fn new() -> Build {
        let mut program = Program::default();
        let string = TypeId::new(0);
        let string_ctors =
            data(&mut program, "String", 0, &[("Nil", vec![]), ("Cons", vec![U24, Type::Data(string, vec![])])]);
        let list = program.types.next_id();
        let own = Type::Data(list, vec![param(0)]);
        let lists = data(&mut program, "List", 1, &[("Nil", vec![]), ("Cons", vec![param(0), own])]);
        let result = program.types.next_id();
        let results = data(&mut program, "Result", 2, &[("Ok", vec![param(0)]), ("Err", vec![param(1)])]);
        program.known.string_cons = Some(string_ctors[1]);
        program.known.list_cons = Some(lists[1]);
        Build { program, list, result, nil: lists[0], cons: lists[1], ok: results[0], err: results[1] }
    }

    pub fn string(&self) -> Type {
        Type::Data(TypeId::new(0), vec![])
    }

    pub fn list_of(&self, ty: Type) -> Type {
        Type::Data(self.list, vec![ty])
    }

    /// A checked definition whose first locals are its parameters.
    pub fn def(&mut self, name: &str, params: u32, ty: Type, body: Term) -> DefId {
        let locals: IndexVec<LocalId, Local> =
            (0..20).map(|i| Local { name: Name::from(format!("x{i}")), span: Span::NONE }).collect();
        self.program.defs.push(Def {
            name: name.into(),
            span: Span::NONE,
            origin: Origin::User,
            check: true,
            ty: Scheme { params: letters(highest_param(&ty)), ty },
            params: (0..params).map(LocalId::new).collect(),
            locals,
            body: Body::Term(body),
        })
    }

    pub fn next(&self) -> DefId {
        self.program.defs.next_id()
    }

    pub fn unchecked(&mut self, name: &str, params: u32, ty: Type, body: Term) -> DefId {
        let id = self.def(name, params, ty, body);
        self.program.defs[id].check = false;
        id
    }

    /// Checks the program and gives the codes of its errors.
    pub fn check(&mut self) -> Vec<Code> {
        let mut diags = Diagnostics::default();
        check(&mut self.program, &mut diags, true);
        diags.iter().map(|d| d.code).collect()
    }

    /// Checks the program, which has no errors, and gives the body of a definition.
    pub fn body_of(&mut self, def: DefId) -> Term {
        assert_eq!(self.check(), []);
        self.body(def)
    }

    pub fn body(&self, def: DefId) -> Term {
        match &self.program.defs[def].body {
            Body::Term(term) => term.clone(),
            Body::Net(_) => panic!("the definition is a term"),
        }
    }
}

/// The names of so many parameters.
pub fn letters(count: u32) -> Vec<Name> {
    (0..count as usize).map(|i| Name::from(letter(i))).collect()
}

fn highest_param(ty: &Type) -> u32 {
    match ty {
        Type::Param(i) => i + 1,
        Type::Data(_, parts) | Type::Tuple(parts) => parts.iter().map(highest_param).max().unwrap_or(0),
        Type::Arrow(from, to) => highest_param(from).max(highest_param(to)),
        Type::Any | Type::Hole | Type::None | Type::Num(_) | Type::Var(_) => 0,
    }
}

fn data(program: &mut Program, name: &str, vars: usize, ctors: &[(&str, Vec<Type>)]) -> Vec<CtorId> {
    let ty = program.types.next_id();
    let ids: Vec<CtorId> = ctors
        .iter()
        .enumerate()
        .map(|(tag, (ctor, fields))| {
            let field = |(i, ty): (usize, &Type)| FieldInfo {
                name: Name::from(format!("field{i}")),
                ty: ty.clone(),
                recursive: false,
            };
            program.ctors.push(Ctor {
                name: Name::from(format!("{name}/{ctor}")),
                span: Span::NONE,
                ty,
                tag: tag as u32,
                fields: fields.iter().enumerate().map(field).collect(),
            })
        })
        .collect();
    program.types.push(DataType {
        name: name.into(),
        span: Span::NONE,
        origin: Origin::Prelude,
        vars: (0..vars).map(|i| Name::from(format!("t{i}"))).collect(),
        ctors: ids.clone(),
    });
    ids
}
