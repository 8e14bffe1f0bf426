//! Single rules, on programs made of terms.

use super::builder::*;
use girih_base::diag::Code;
use girih_base::num::{BinOp, Num, NumKind};
use girih_base::prim::Prim;
use girih_term::ty::{Scheme, Type};
use girih_term::{LocalId, Target, Term, TermKind};

/// The type that is found for a definition without an annotation.
fn found(build: &mut Build, params: u32, body: Term) -> Result<Scheme, Vec<Code>> {
    let id = build.def("f", params, Type::Hole, body);
    let codes = build.check();
    if codes.is_empty() { Ok(build.program.defs[id].ty.clone()) } else { Err(codes) }
}

fn scheme(params: u32, ty: Type) -> Result<Scheme, Vec<Code>> {
    Ok(Scheme { params: letters(params), ty })
}

fn to(kind: NumKind, inner: Term) -> Term {
    term(TermKind::Prim(Prim::To(kind), vec![inner]))
}

fn num(number: Num) -> Term {
    term(TermKind::Num(number))
}

#[test]
fn types_are_found() {
    let found = |params, body| found(&mut Build::new(), params, body);
    assert_eq!(found(1, v(0)), scheme(1, arrow([param(0), param(0)])));
    assert_eq!(found(2, v(0)), scheme(2, arrow([param(0), param(1), param(0)])));
    assert_eq!(found(0, n(5)), scheme(0, U24));
    assert_eq!(found(1, add(v(0), n(1))), scheme(0, arrow([U24, U24])));
    assert_eq!(found(1, add(v(0), float(1.0))), scheme(0, arrow([F24, F24])));
    assert_eq!(found(2, add(v(0), v(1))), scheme(1, arrow([param(0), param(0), param(0)])));
    assert_eq!(found(2, op(BinOp::Lt, v(0), v(1))), scheme(1, arrow([param(0), param(0), U24])));
    assert_eq!(found(1, switch(v(0), n(1), Some(1), v(1))), scheme(0, arrow([U24, U24])));
    assert_eq!(found(0, tuple([n(1), text()])), scheme(0, Type::Tuple(vec![U24, b_string()])));
    let applied = call(v(0), [v(1)]);
    assert_eq!(found(2, applied), scheme(2, arrow([arrow([param(0), param(1)]), param(0), param(1)])));
}

fn b_string() -> Type {
    Build::new().string()
}

#[test]
fn let_generalises_and_lambda_does_not() {
    let mut b = Build::new();
    let pair = tuple([call(v(0), [n(1)]), call(v(0), [text()])]);
    let generalised = let_var(0, lambda([1], v(1)), pair.clone());
    assert_eq!(found(&mut b, 0, generalised), scheme(0, Type::Tuple(vec![U24, b_string()])));
    assert_eq!(found(&mut Build::new(), 0, lambda([0], pair)), Err(vec![Code::TypeMismatch]));
    // What a parameter is stays one type inside of a `let`.
    let mut b = Build::new();
    let alias = let_var(1, v(0), tuple([add(v(1), n(1)), call(v(1), [n(1)])]));
    assert_eq!(found(&mut b, 1, alias), Err(vec![Code::TypeMismatch]));
}

#[test]
fn self_application_is_infinite() {
    assert_eq!(found(&mut Build::new(), 0, lambda([0], call(v(0), [v(0)]))), Err(vec![Code::InfiniteType]));
}

#[test]
fn types_that_explode_are_refused() {
    // x1 = λy (y, y); x2 = λy x1(x1(y)); x3 = λy x2(x2(y)); …
    let mut body = v(9);
    for i in (1..10).rev() {
        let inner = match i {
            1 => tuple([v(10), v(10)]),
            _ => call(v(i - 1), [call(v(i - 1), [v(10 + i - 1)])]),
        };
        body = let_var(i, lambda([10 + i - 1], inner), body);
    }
    assert_eq!(found(&mut Build::new(), 0, body), Err(vec![Code::TypeTooLarge]));
}

#[test]
fn any_fits_and_spreads() {
    let mut b = Build::new();
    let any = b.unchecked("any", 1, arrow([Type::Any, Type::Any]), v(0));
    let sum = add(call(g(any), [text()]), n(1));
    assert_eq!(found(&mut b, 0, sum), scheme(0, Type::Any));
    // The parameter became `Any` when it was given to a function of `Any`.
    let twice =
        let_in(Target::Var(LocalId::new(1)), call(g(any), [v(0)]), tuple([add(v(0), n(1)), call(v(0), [n(1)])]));
    assert_eq!(found(&mut b, 1, twice), scheme(0, arrow([Type::Any, Type::Tuple(vec![Type::Any, Type::Any])])));
    // A branch of `Any` makes the whole `Any`.
    let branch = switch(n(1), call(g(any), [n(1)]), None, text());
    assert_eq!(found(&mut b, 0, branch), scheme(0, Type::Any));
}

#[test]
fn annotations_decide_and_may_not_promise_too_much() {
    let refused = |ty: Type, params: u32, body: Term| {
        let mut b = Build::new();
        b.def("f", params, ty, body);
        b.check()
    };
    assert_eq!(refused(arrow([param(0), param(0)]), 1, v(0)), []);
    assert_eq!(refused(arrow([U24, U24]), 1, v(0)), []);
    assert_eq!(refused(arrow([param(0), U24]), 1, v(0)), [Code::AnnotationTooGeneral]);
    assert_eq!(refused(arrow([param(0), param(1), param(1)]), 2, v(0)), [Code::AnnotationTooGeneral]);
    assert_eq!(refused(arrow([param(0), param(0)]), 1, add(v(0), n(1))), [Code::NotNumeric]);
    assert_eq!(refused(arrow([F24, U24]), 1, v(0)), [Code::TypeMismatch]);
    assert_eq!(refused(arrow([Type::Any, U24]), 1, add(v(0), n(1))), []);
    assert_eq!(refused(arrow([Type::Any, U24]), 1, tuple([v(0), v(0)])), [Code::TypeMismatch]);
    assert_eq!(refused(U24, 1, v(0)), [Code::TypeMismatch]);
}

#[test]
fn an_annotation_of_any_is_any_outside_and_is_inferred_inside() {
    let mut b = Build::new();
    let f = b.def("f", 1, arrow([Type::Any, Type::Any]), add(v(0), n(1)));
    b.def("g", 0, U24, call(g(f), [text()]));
    assert_eq!(b.check(), []);
    let mut b = Build::new();
    b.def("h", 1, arrow([Type::Any, Type::Any]), tuple([add(v(0), n(1)), call(v(0), [n(1)])]));
    assert_eq!(b.check(), [Code::TypeMismatch]);
}

#[test]
fn groups_are_inferred_together_and_generalised_after() {
    let mut b = Build::new();
    let (even, odd) = (b.next(), girih_term::DefId::new(1));
    b.def("even", 1, Type::Hole, switch(v(0), n(1), Some(1), call(g(odd), [v(1)])));
    b.def("odd", 1, Type::Hole, switch(v(0), n(0), Some(1), call(g(even), [v(1)])));
    let id = b.def("id", 1, Type::Hole, v(0));
    b.def("use", 0, Type::Hole, tuple([call(g(id), [n(1)]), call(g(id), [text()]), call(g(even), [n(1)])]));
    assert_eq!(b.check(), []);
    assert_eq!(b.program.defs[even].ty.ty, arrow([U24, U24]));
    assert_eq!(b.program.defs[girih_term::DefId::new(3)].ty.ty, Type::Tuple(vec![U24, b.string(), U24]));
}

#[test]
fn an_error_stays_alone() {
    let mut b = Build::new();
    let wrong = b.next();
    b.def("wrong", 1, Type::Hole, add(v(0), text()));
    b.def("caller", 0, U24, add(call(g(wrong), [text()]), n(1)));
    b.def("also_wrong", 0, U24, text());
    assert_eq!(b.check(), [Code::NotNumeric, Code::TypeMismatch]);
}

#[test]
fn a_matched_error_can_be_returned_at_another_type() {
    // Result/and(fst: Result(A, E), snd: Result(B, E)) -> Result(B, E)
    let mut b = Build::new();
    let of = |b: &Build, ok, err| Type::Data(b.result, vec![ok, err]);
    let ty = arrow([of(&b, param(0), param(2)), of(&b, param(1), param(2)), of(&b, param(1), param(2))]);
    let arms = [(b.ok, None, vec![2], v(1)), (b.err, Some(3), vec![4], v(3))];
    let body = match_on(v(0), b.result, arms);
    b.def("and", 2, ty, body);
    // Result/unwrap(res: Result(T, E)) -> Any
    let ty = arrow([of(&b, param(0), param(1)), Type::Any]);
    let arms = [(b.ok, None, vec![1], v(1)), (b.err, None, vec![2], v(2))];
    let body = match_on(v(0), b.result, arms);
    b.def("unwrap", 1, ty, body);
    assert_eq!(b.check(), []);
}

#[test]
fn a_matched_value_has_its_own_type() {
    let mut b = Build::new();
    let (ok, err) = (b.ok, b.err);
    // The scrutinee's error is text, so returning it as a Result(B, u24) is wrong.
    let ty = arrow([Type::Data(b.result, vec![U24, b.string()]), Type::Data(b.result, vec![U24, U24])]);
    let body = match_on(v(0), b.result, [(ok, Some(2), vec![1], v(2)), (err, Some(4), vec![3], v(4))]);
    b.def("f", 1, ty, body);
    assert_eq!(b.check(), [Code::TypeMismatch]);
}

#[test]
fn literals_take_32_bits_where_their_place_needs_it() {
    let mut b = Build::new();
    let f = b.def("f", 1, arrow([U32, U32]), add(v(0), n(4_000_000_000)));
    assert_eq!(b.body_of(f), add(v(0), num(Num::U32(4_000_000_000))));
    let mut b = Build::new();
    let f = b.def("f", 0, F32, float(0.1));
    assert_eq!(b.body_of(f), num(Num::F32(0.1)));
    let mut b = Build::new();
    let f = b.def("f", 0, b.list_of(U32), list([n(1), n(4_000_000_000)]));
    assert_eq!(b.body_of(f), list([num(Num::U32(1)), num(Num::U32(4_000_000_000))]));
    // A name for a literal leaves open what it is until it is used.
    let mut b = Build::new();
    let f = b.def("f", 1, arrow([U32, U32]), let_var(1, n(4_000_000_000), add(v(0), v(1))));
    assert_eq!(b.body_of(f), let_var(1, num(Num::U32(4_000_000_000)), add(v(0), v(1))));
    let mut b = Build::new();
    b.def("f", 0, Type::Hole, n(1 << 24));
    assert_eq!(b.check(), [Code::LiteralRange]);
}

#[test]
fn a_literal_that_is_used_at_both_widths_is_widened() {
    let mut b = Build::new();
    let narrow = b.unchecked("narrow", 1, arrow([U24, U24]), v(0));
    let wide = b.unchecked("wide", 1, arrow([U32, U24]), v(0));
    let uses = |x: Term, y: Term| tuple([call(g(wide), [x]), call(g(narrow), [y])]);
    let f = b.def("f", 0, Type::Hole, let_var(0, n(5), uses(v(0), v(0))));
    assert_eq!(b.body_of(f), let_var(0, num(Num::U24(5)), uses(to(NumKind::U32, v(0)), v(0))));
}

#[test]
fn numbers_of_24_bits_are_widened() {
    let mut b = Build::new();
    let f = b.def("f", 2, arrow([U24, U32, U32]), add(v(0), v(1)));
    assert_eq!(b.body_of(f), add(to(NumKind::U32, v(0)), v(1)));
    let mut b = Build::new();
    let f = b.def("f", 2, arrow([F32, F24, U24]), op(BinOp::Lt, v(0), v(1)));
    assert_eq!(b.body_of(f), op(BinOp::Lt, v(0), to(NumKind::F32, v(1))));
    // Arguments, fields and results.
    let mut b = Build::new();
    let wide = b.unchecked("wide", 1, arrow([U32, U32]), v(0));
    let f = b.def("f", 1, arrow([U24, U32]), call(g(wide), [v(0)]));
    assert_eq!(b.body_of(f), call(g(wide), [to(NumKind::U32, v(0))]));
    let mut b = Build::new();
    let (cons, nil, ty) = (b.cons, b.nil, arrow([U24, b.list_of(U32)]));
    let f = b.def("f", 1, ty, ctor(cons, [v(0), ctor(nil, [])]));
    assert_eq!(b.body_of(f), ctor(cons, [to(NumKind::U32, v(0)), ctor(nil, [])]));
    let mut b = Build::new();
    let f = b.def("f", 1, arrow([U24, U32]), switch(v(0), n(4_000_000_000), Some(1), v(1)));
    let expected = switch(v(0), num(Num::U32(4_000_000_000)), Some(1), to(NumKind::U32, v(1)));
    assert_eq!(b.body_of(f), expected);
    // Elements and branches among themselves.
    let mut b = Build::new();
    let f = b.def("f", 2, arrow([U24, U32, Type::Hole]), list([v(0), v(1)]));
    assert_eq!(b.body_of(f), list([to(NumKind::U32, v(0)), v(1)]));
}

#[test]
fn nothing_is_narrowed_and_families_stay_apart() {
    let refused = |ty: Type, body: Term| {
        let mut b = Build::new();
        b.def("f", 2, ty, body);
        b.check()
    };
    assert_eq!(refused(arrow([U32, U32, U24]), v(0)), [Code::TypeMismatch]);
    assert_eq!(refused(arrow([U24, F24, F24]), add(v(0), v(1))), [Code::TypeMismatch]);
    assert_eq!(refused(arrow([I24, I24, I24]), add(v(0), n(1))), [Code::TypeMismatch]);
    assert_eq!(refused(arrow([U24, U32, U32]), op(BinOp::Pow, v(0), v(1))), [Code::NotNumeric]);
    assert_eq!(refused(arrow([F24, F24, F24]), op(BinOp::And, v(0), v(1))), [Code::NotNumeric]);
    assert_eq!(refused(arrow([F24, F24, F24]), op(BinOp::Rem, v(0), v(1))), []);
}

#[test]
fn superpositions_and_scopeless_variables_have_no_type() {
    let mut b = Build::new();
    b.def("f", 0, U24, term(TermKind::Sup(vec![n(1), n(2)])));
    b.def("g", 0, U24, let_in(Target::Link("x".into()), n(1), n(2)));
    b.unchecked("h", 0, U24, term(TermKind::Sup(vec![n(1), n(2)])));
    assert_eq!(b.check(), [Code::Untypeable, Code::Untypeable]);
}

#[test]
fn long_sequences_do_not_recurse() {
    let mut b = Build::new();
    let count = 100_000;
    let wide = term(TermKind::List((0..count).map(n).collect()));
    let binds =
        (0..count).map(|_| girih_term::Bind { target: Target::Var(LocalId::new(1)), value: add(n(1), n(2)) }).collect();
    b.def("f", 0, Type::Hole, wide);
    b.def("g", 0, Type::Hole, term(TermKind::Let(binds, Box::new(v(1)))));
    assert_eq!(b.check(), []);
}

#[test]
fn without_checking_literals_take_24_bits_and_no_type_is_refused() {
    let mut b = Build::new();
    let f = b.def("f", 0, arrow([Type::Hole, U24]), add(n(1), text()));
    b.def("g", 0, U24, n(1 << 24));
    let mut diags = girih_base::diag::Diagnostics::default();
    girih_bend::check::check(&mut b.program, &mut diags, false);
    assert_eq!(diags.iter().map(|d| d.code).collect::<Vec<_>>(), [Code::LiteralRange]);
    assert_eq!(b.program.defs[f].ty.ty, arrow([Type::Any, U24]));
    assert_eq!(b.body(f), add(num(Num::U24(1)), text()));
}
