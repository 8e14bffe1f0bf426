//! What is said about tensors that do not fit.

use girih_base::diag::Code;
use girih_ir::Scalar;
use girih_tensor::{Graph, Op, Shape};

#[test]
fn a_sentence_names_the_operation_and_both_shapes() {
    let mut g = Graph::new();
    let a = g.input(Scalar::F32, &[2, 3]).expect("an input");
    let b = g.input(Scalar::F32, &[3, 2]).expect("an input");
    let c = g.input(Scalar::F64, &[2, 3]).expect("an input");
    let mut refused = |op, operands: &[_]| {
        let error = g.op(op, operands).expect_err("it does not fit");
        (error.code, error.message)
    };
    assert_eq!(
        refused(Op::Add, &[a, b]),
        (Code::TensorShape, "`add` of f32[2, 3] and f32[3, 2] needs operands of one shape".into())
    );
    assert_eq!(
        refused(Op::Add, &[a, c]),
        (Code::TensorType, "`add` of f32[2, 3] and f64[2, 3] needs operands of one element type".into())
    );
    assert_eq!(
        refused(Op::Matmul, &[a, a]).1,
        "`matmul` of f32[2, 3] and f32[2, 3] needs as many columns of the first as rows of the second, and equal dimensions before"
    );
    assert_eq!(
        refused(Op::Rem, &[a, a]),
        (Code::TensorType, "`rem` of f32[2, 3] and f32[2, 3] does not take elements of type f32".into())
    );
    assert_eq!(refused(Op::Neg, &[a, a]).1, "`neg` of f32[2, 3] and f32[2, 3] has the wrong number of operands");
    let error = g.reshape(a, &Shape::of(&[4])).expect_err("six elements are not four");
    assert_eq!(error.message, "`reshape` of f32[2, 3] cannot give the shape [4]: 6 elements are not 4");
    let error = g.binary(Op::Add, a, b).expect_err("neither is repeated");
    assert_eq!(error.message, "`add` of f32[2, 3] and f32[3, 2] needs operands of one shape");
}

#[test]
fn elements_are_promoted_and_dimensions_repeated() {
    let mut g = Graph::new();
    let mut sum = |(a, x): (Scalar, &[u64]), (b, y): (Scalar, &[u64])| {
        let (x, y) = (g.input(a, x).expect("an input"), g.input(b, y).expect("an input"));
        let sum = g.binary(Op::Add, x, y).expect("a sum");
        g.ty(sum).to_string()
    };
    assert_eq!(sum((Scalar::F32, &[2, 1]), (Scalar::F32, &[3])), "f32[2, 3]");
    assert_eq!(sum((Scalar::F16, &[]), (Scalar::I64, &[3])), "f16[3]");
    assert_eq!(sum((Scalar::F16, &[]), (Scalar::Bf16, &[])), "f32[]");
    assert_eq!(sum((Scalar::U8, &[1]), (Scalar::I8, &[1])), "i16[1]");
    assert_eq!(sum((Scalar::Bool, &[1]), (Scalar::I8, &[1])), "i8[1]");
}
