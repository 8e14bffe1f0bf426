//! The library's text gives the same bits as its prototypes, and the tables name what is there.

use super::prototype::accuracy::{Patterns, edges};
use super::prototype::integers::integer;
use super::prototype::ops::{U, bits};
use super::prototype::{convert, division, exponential, fma, inverse, logarithm, power, root, trigonometric, wide};
use girih_base::span::Span;
use girih_ir::math::{CONVERSIONS, FILES, ROUTINES, library};
use girih_ir::{Op, Scalar, Type, text, verify};
use girih_machine::interp::{Options, call_each};

/// What a routine takes: one letter a parameter. `f` any float, `n` a float near the last one, `p` one near the product of
/// the last two, `s` an f16 value, `b` a bf16 value, `h` a word of 16 bits, `l` a 64-bit integer as two words.
fn arguments(kinds: &str, i: usize, edges: &[f32], patterns: &mut Patterns) -> Vec<u32> {
    let mut floats: Vec<f32> = vec![];
    let mut words = vec![];
    for kind in kinds.chars() {
        // A third of them from the edges; for one argument all edges come first.
        let edge = match kinds.len() {
            1 => edges.get(i).copied(),
            _ if i.is_multiple_of(3) => Some(edges[patterns.word() as usize % edges.len()]),
            _ => None,
        };
        let last = floats.last().copied().unwrap_or(1.0);
        let float = match kind {
            'n' => patterns.near(last),
            'p' => {
                let product = floats[floats.len() - 2] * last;
                let close = f32::from_bits(product.to_bits() ^ 0x8000_0000 ^ (patterns.word() >> (8 + i % 24)));
                if i.is_multiple_of(2) { close } else { patterns.near(product) }
            }
            _ => patterns.any(),
        };
        let float = edge.unwrap_or(float);
        match kind {
            'f' | 'n' | 'p' => words.push(float.to_bits()),
            's' => words.push(convert::f16_to_f32(U(patterns.word() & 0xffff)).to_bits()),
            'b' => words.push(float.to_bits() & 0xffff_0000),
            'h' => words.push(patterns.word() & 0xffff),
            'l' => {
                let x = integer(patterns);
                words.extend([x as u32, (x >> 32) as u32]);
            }
            _ => panic!("{kind}"),
        }
        floats.push(float);
    }
    words
}

type Routine = fn(&[u32]) -> Vec<u32>;

/// What a prototype gives, as words.
trait Words {
    fn words(self) -> Vec<u32>;
}
impl Words for f32 {
    fn words(self) -> Vec<u32> {
        bits(self).words()
    }
}
impl Words for U {
    fn words(self) -> Vec<u32> {
        vec![self.0]
    }
}
impl Words for bool {
    fn words(self) -> Vec<u32> {
        vec![u32::from(self)]
    }
}
impl Words for (U, U) {
    fn words(self) -> Vec<u32> {
        vec![self.0.0, self.1.0]
    }
}

/// The prototype of a routine on words: of floats, of one word, of one or of two 64-bit integers.
macro_rules! of {
    (f $f:path) => {
        |x: &[u32]| $f(f32::from_bits(x[0])).words()
    };
    (ff $f:path) => {
        |x: &[u32]| $f(f32::from_bits(x[0]), f32::from_bits(x[1])).words()
    };
    (fff $f:path) => {
        |x: &[u32]| $f(f32::from_bits(x[0]), f32::from_bits(x[1]), f32::from_bits(x[2])).words()
    };
    (h $f:path) => {
        |x: &[u32]| $f(U(x[0])).words()
    };
    (l $f:path) => {
        |x: &[u32]| $f(U(x[0]), U(x[1])).words()
    };
    (lh $f:path) => {
        |x: &[u32]| $f(U(x[0]), U(x[1]), U(x[2])).words()
    };
    (ll $f:path) => {
        |x: &[u32]| $f(U(x[0]), U(x[1]), U(x[2]), U(x[3])).words()
    };
}

/// All routines: name, arguments, prototype.
const ALL: &[(&str, &str, Routine)] = &[
    ("math.div", "fn", of!(ff division::div)),
    ("math.sqrt", "f", of!(f root::sqrt)),
    ("math.rsqrt", "f", of!(f root::rsqrt)),
    ("math.fma", "fnp", of!(fff fma::fma)),
    ("math.fma_f16", "sss", of!(fff fma::fma_f16)),
    ("math.fma_bf16", "bbb", of!(fff fma::fma_bf16)),
    ("math.exp", "f", of!(f exponential::exp)),
    ("math.exp2", "f", of!(f exponential::exp2)),
    ("math.tanh", "f", of!(f exponential::tanh)),
    ("math.log", "f", of!(f logarithm::log)),
    ("math.log2", "f", of!(f logarithm::log2)),
    ("math.sin", "f", of!(f trigonometric::sin)),
    ("math.cos", "f", of!(f trigonometric::cos)),
    ("math.tan", "f", of!(f trigonometric::tan)),
    ("math.asin", "f", of!(f inverse::asin)),
    ("math.acos", "f", of!(f inverse::acos)),
    ("math.atan", "f", of!(f inverse::atan)),
    ("math.atan2", "fn", of!(ff inverse::atan2)),
    ("math.pow", "fn", of!(ff power::pow)),
    ("math.f32_to_f16", "f", of!(f convert::f32_to_f16)),
    ("math.f32_to_bf16", "f", of!(f convert::f32_to_bf16)),
    ("math.f32_to_e4m3", "f", of!(f convert::f32_to_e4m3)),
    ("math.f32_to_e5m2", "f", of!(f convert::f32_to_e5m2)),
    ("math.f16_to_f32", "h", of!(h convert::f16_to_f32)),
    ("math.bf16_to_f32", "h", of!(h convert::bf16_to_f32)),
    ("math.e4m3_to_f32", "h", of!(h convert::e4m3_to_f32)),
    ("math.e5m2_to_f32", "h", of!(h convert::e5m2_to_f32)),
    ("math.f32_to_u64", "f", of!(f wide::f32_to_u64)),
    ("math.f32_to_i64", "f", of!(f wide::f32_to_i64)),
    ("math.u64_to_f32", "l", of!(l wide::u64_to_f32)),
    ("math.i64_to_f32", "l", of!(l wide::i64_to_f32)),
    ("math.sub64", "ll", of!(ll wide::sub64)),
    ("math.mul64", "ll", of!(ll wide::mul64)),
    ("math.div_u64", "ll", of!(ll wide::div_u64)),
    ("math.rem_u64", "ll", of!(ll wide::rem_u64)),
    ("math.div_i64", "ll", of!(ll wide::div_i64)),
    ("math.rem_i64", "ll", of!(ll wide::rem_i64)),
    ("math.shl64", "lh", of!(lh wide::shl64)),
    ("math.shr_u64", "lh", of!(lh wide::shr_u64)),
    ("math.clz64", "l", of!(l wide::clz64)),
    ("math.lt_u64", "ll", of!(ll wide::lt_u64)),
];

#[test]
fn the_text_gives_the_prototypes_bits() {
    let module = verify(library().clone()).expect("the library is verified");
    let options = Options { checked: true, ..Options::default() };
    let edges = edges();
    for (name, kinds, prototype) in ALL {
        let mut patterns = Patterns(name.len() as u64);
        let rows: Vec<Vec<u32>> = (0..4_000).map(|i| arguments(kinds, i, &edges, &mut patterns)).collect();
        let wide: Vec<Vec<u64>> = rows.iter().map(|row| row.iter().map(|x| u64::from(*x)).collect()).collect();
        let function = module.find(name).unwrap_or_else(|| panic!("`{name}` is not in the library"));
        let results = call_each(&module, function, &wide, &options).expect("the library runs");
        for (words, result) in rows.iter().zip(results) {
            let got: Vec<u32> = result.into_iter().map(|x| x as u32).collect();
            let want = prototype(words);
            // A NaN is any NaN.
            let both_nan = [&got, &want].iter().all(|x| x.len() == 1 && f32::from_bits(x[0]).is_nan());
            assert!(got == want || both_nan, "{name} of {words:x?} is {got:x?}, not {want:x?}");
        }
    }
}

#[test]
fn the_tables_name_tested_routines_of_the_right_shape() {
    let library = library();
    let words = |s: Scalar| match s {
        Scalar::I64 | Scalar::U64 => vec![Type::U32, Type::U32],
        Scalar::F32 => vec![Type::F32],
        _ => vec![Type::U32],
    };
    let hold = |name: &str, params: Vec<Type>, results: Vec<Type>| {
        assert!(ALL.iter().any(|(tested, ..)| *tested == name), "{name}");
        let f = &library.functions[library.find(name).unwrap()];
        assert_eq!(f.params.iter().map(|v| f.ty(*v)).collect::<Vec<_>>(), params, "{name}");
        assert_eq!(f.results, results, "{name}");
    };
    for (op, scalars, name) in ROUTINES {
        for scalar in *scalars {
            // Short floats are computed as `f32`.
            let operand = if scalar.is_float() { vec![Type::F32] } else { words(*scalar) };
            let params = operand.repeat(op.row().operands.len());
            hold(name, params, operand);
        }
    }
    for (from, to, name) in CONVERSIONS {
        hold(name, words(*from), words(*to));
    }
}

#[test]
fn the_library_is_right_ir_and_needs_little() {
    // Only these may round, so that every device gives the same bits.
    let floats = [Op::Add, Op::Sub, Op::Mul, Op::Select, Op::Bitcast, Op::Convert, Op::Neg, Op::Lt, Op::Gt, Op::Eq];
    let verified = verify(library().clone()).expect("the library is verified").into_inner();
    for f in verified.functions.iter() {
        assert!(f.name.starts_with("math."), "{}", f.name);
        f.walk(f.body, &mut |_, inst| {
            let scalar = inst.ty.and_then(Type::element);
            let allowed = match scalar {
                None | Some(Scalar::Bool | Scalar::U32 | Scalar::I32) => true,
                Some(Scalar::F32) => floats.contains(&inst.op),
                Some(_) => false,
            };
            assert!(allowed, "{}: {}", f.name, inst.op.name());
        });
    }
}

#[test]
fn the_text_is_printed_and_read_again() {
    let printed = text::print(library());
    let again = text::parse(Span::NONE.source, &printed).expect("printed text is read");
    assert_eq!(text::print(&again.module), printed);
    assert!(FILES.iter().all(|(_, text)| text.starts_with("; ") && text.lines().all(|line| line.len() <= 120)));
}
