//! The kinds that operators and primitives give are those of the numbers that they give.

use girih_base::num::{BinOp, Num};
use girih_base::prim::Prim;
use girih_task::flow::Numbers;
use girih_task::flow::operate::{operator, primitive};

/// Two numbers of each kind that divide, shift and convert without failing.
fn samples() -> Vec<Num> {
    vec![Num::U24(3), Num::I24(-3), Num::f24(1.5), Num::U32(7), Num::I32(-9), Num::F32(2.5)]
}

#[test]
fn operators_give_the_kinds_that_numbers_do() {
    for op in BinOp::ALL {
        for a in samples() {
            for b in samples() {
                let expected = Num::apply(op, a, b).ok().map(|result| result.kind());
                let found = operator(op, Numbers::one(a.kind()), Numbers::one(b.kind()));
                assert_eq!(found, expected.into_iter().collect(), "{a:?} {op:?} {b:?}");
            }
        }
    }
}

#[test]
fn primitives_give_the_kinds_that_numbers_do() {
    for &prim in Prim::ALL {
        for a in samples() {
            for b in samples() {
                let args = &[a, b][..prim.arity()];
                let expected = prim.apply(args).ok().map(|result| result.kind());
                let kinds: Vec<Numbers> = args.iter().map(|arg| Numbers::one(arg.kind())).collect();
                assert_eq!(primitive(prim, &kinds), expected.into_iter().collect(), "{prim:?} {args:?}");
            }
        }
    }
}
