//! The text gives the bits that Bend's Rust functions give, and the tables name what is there.

use girih_base::num::{Num, NumKind, math};
use girih_base::span::Span;
use girih_ir::{Module, Op, Scalar, Type, Verified, text, verify};
use girih_machine::interp::{Options, call_each};
use girih_task::math::{Conversion, FILES, MathFunction, ROUND24, conversion, from_bits, function, library, to_bits};
use std::f32::consts::FRAC_PI_2;
use std::sync::OnceLock;

mod devices;

/// How many arguments besides the edges a function is tried on.
const SAMPLES: usize = 100_000;

fn verified() -> &'static Verified<Module> {
    static VERIFIED: OnceLock<Verified<Module>> = OnceLock::new();
    VERIFIED.get_or_init(|| verify(library().clone()).expect("the library is verified"))
}

/// What a function of the library gives for each row of words.
fn results(name: &str, rows: &[Vec<u64>]) -> Vec<u32> {
    let id = library().find(name).unwrap_or_else(|| panic!("`{name}` is not in the library"));
    // Looking for faults takes its time, so it is done for some.
    let (looked_at, others) = rows.split_at(rows.len().min(1000));
    let run = |rows: &[Vec<u64>], checked| {
        let options = Options { checked, subgroup: 64, ..Options::default() };
        call_each(verified(), id, rows, &options).expect("the function runs")
    };
    run(looked_at, true).into_iter().chain(run(others, false)).map(|result| result[0] as u32).collect()
}

/// The same pattern, or both NaN.
fn same(a: u32, b: u32) -> bool {
    a == b || (f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan())
}

/// Holds a function of floats to its Rust counterpart.
fn hold<const N: usize>(name: &str, arguments: &[[f32; N]], expected: impl Fn([f32; N]) -> f32) {
    let rows: Vec<Vec<u64>> = arguments.iter().map(|row| row.map(|x| u64::from(x.to_bits())).to_vec()).collect();
    for (row, got) in arguments.iter().zip(results(name, &rows)) {
        let want = expected(*row).to_bits();
        let bits = row.map(f32::to_bits);
        assert!(same(got, want), "{name}{row:?} (of {bits:x?}) is {got:#x}, not {want:#x}");
    }
}

/// Floats around which something changes, of both signs.
fn edges() -> Vec<f32> {
    let mut all = vec![f32::NAN, f32::from_bits(0xff80_0001), f32::INFINITY, f32::NEG_INFINITY];
    let whole = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 127.0, 128.0, 149.0, 150.0, 8388608.0, 16777216.0, 4294967296.0];
    let others = [f32::MIN_POSITIVE, f32::MAX, 1.0 / 4096.0, 0.7, 0.4142135, FRAC_PI_2, FRAC_PI_2 / 2.0, 1.414_3, 1e20];
    for x in whole.into_iter().chain(others) {
        for step in [0, 1, -1] {
            let near = f32::from_bits(x.to_bits().wrapping_add_signed(step));
            all.extend([near, -near]);
        }
    }
    all
}

fn edge_pairs() -> impl Iterator<Item = [f32; 2]> {
    let edges = edges();
    edges.clone().into_iter().flat_map(move |x| edges.clone().into_iter().map(move |y| [x, y]))
}

/// Words that look random, always the same.
struct Words(u64);

impl Words {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x.wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        self.word() % end
    }

    /// Any float, a special value now and then.
    fn float(&mut self) -> f32 {
        f32::from_bits(self.word())
    }

    /// A whole number of at most so many bits, of either sign.
    fn whole(&mut self, bits: u32) -> f32 {
        let magnitude = (self.word() >> self.below(bits) >> (32 - bits)) as f32;
        if self.word() & 1 == 0 { magnitude } else { -magnitude }
    }

    /// A float some units in the last place from this one.
    fn beside(&mut self, x: f32) -> f32 {
        f32::from_bits(x.to_bits().wrapping_add(self.below(9)).wrapping_sub(4))
    }

    /// A float whose exponent differs from this one's by less than 31.
    fn near(&mut self, x: f32) -> f32 {
        let exponent = (x.to_bits() >> 23 & 0xff) as i32 + self.below(61) as i32 - 30;
        f32::from_bits((self.word() & 0x807f_ffff) | (exponent.clamp(0, 254) as u32) << 23)
    }

    /// A float between one half and two, most often close to one.
    fn near_one(&mut self) -> f32 {
        let distance = self.word() >> 9 >> self.below(23);
        f32::from_bits(if self.word() & 1 == 0 { 0x3f80_0000 + distance } else { 0x3f80_0000 - distance })
    }

    /// Below the normal numbers, of either sign.
    fn denormal(&mut self) -> f32 {
        f32::from_bits((self.word() & 0x8000_0000) | (self.word() >> 9 >> self.below(23)))
    }
}

/// Edges, and floats of all kinds of sizes, among them those close to multiples of a quarter turn.
fn angles() -> Vec<[f32; 1]> {
    let mut words = Words(1);
    let samples = (0..SAMPLES).map(|i| match i % 4 {
        0 | 1 => words.float(),
        2 => {
            let turned = words.whole(24) * FRAC_PI_2;
            words.beside(turned)
        }
        _ => {
            // Of moderate size, where the next multiple is as close as it can be.
            let turned = (f64::from(words.whole(30)) * std::f64::consts::FRAC_PI_2) as f32;
            words.beside(turned)
        }
    });
    edges().into_iter().chain(samples).map(|x| [x]).collect()
}

#[test]
fn sine() {
    hold("bend.sin", &angles(), |[x]| math::sin(x));
}

#[test]
fn cosine() {
    hold("bend.cos", &angles(), |[x]| math::cos(x));
}

#[test]
fn tangent() {
    hold("bend.tan", &angles(), |[x]| math::tan(x));
}

#[test]
fn natural_logarithm() {
    let mut words = Words(2);
    let samples = (0..SAMPLES).map(|i| match i % 4 {
        0 => words.float(),
        1 => words.float().abs(),
        2 => words.near_one(),
        _ => words.denormal(),
    });
    let arguments: Vec<[f32; 1]> = edges().into_iter().chain(samples).map(|x| [x]).collect();
    hold("bend.ln", &arguments, |[x]| math::ln(x));
}

#[test]
fn logarithm() {
    let mut words = Words(3);
    let samples = (0..SAMPLES).map(|i| match i % 4 {
        0 => [words.float(), words.float()],
        1 => [words.float().abs(), words.near_one()],
        2 => [words.near_one(), words.whole(8)],
        _ => [words.denormal().abs(), words.float().abs()],
    });
    hold("bend.log", &edge_pairs().chain(samples).collect::<Vec<_>>(), |[x, base]| math::log(x, base));
}

#[test]
fn angle_of_a_point() {
    let mut words = Words(4);
    let samples = (0..SAMPLES).map(|i| {
        let x = words.float();
        match i % 6 {
            0 => [words.float(), x],
            1 | 2 => [words.near(x), x],
            3 => [words.beside(x), x],
            // About where the quotient is folded.
            4 => [words.beside(x * 0.4142135), x],
            _ => [words.denormal(), words.denormal()],
        }
    });
    hold("bend.atan2", &edge_pairs().chain(samples).collect::<Vec<_>>(), |[y, x]| math::atan2(y, x));
}

#[test]
fn power() {
    let mut words = Words(5);
    let samples = (0..SAMPLES).map(|i| {
        let x = words.float();
        // An exponent whose power is about two to this.
        let place = words.word() as f32 / u32::MAX as f32 * 300.0 - 155.0;
        match i % 8 {
            0 => [x, words.float()],
            1 | 2 => [x.abs(), place / x.abs().log2()],
            3 => [x, words.whole(6)],
            // Powers that are floats or lie in the middle between two.
            4 => [words.whole(12), words.whole(4)],
            5 => {
                let base = words.near_one();
                [base, place / base.log2()]
            }
            6 => [words.denormal(), words.whole(2) / 2.0],
            _ => [x.abs(), 0.5],
        }
    });
    hold("bend.pow", &edge_pairs().chain(samples).collect::<Vec<_>>(), |[x, y]| math::pow(x, y));
}

#[test]
fn remainder() {
    let mut words = Words(6);
    let samples = (0..SAMPLES).map(|i| {
        let x = words.float();
        match i % 6 {
            0 => [words.float(), x],
            1 | 2 => [words.near(x), x],
            3 => {
                let multiple = x * words.whole(20);
                [words.beside(multiple), x]
            }
            4 => [words.denormal(), words.denormal()],
            _ => [x, words.denormal()],
        }
    });
    hold("bend.remainder", &edge_pairs().chain(samples).collect::<Vec<_>>(), |[a, b]| math::remainder(a, b));
}

/// The type that a number of the kind has in the IR.
fn family(kind: NumKind) -> Type {
    match kind {
        NumKind::U24 | NumKind::U32 => Type::U32,
        NumKind::I24 | NumKind::I32 => Type::I32,
        NumKind::F24 | NumKind::F32 => Type::F32,
    }
}

/// What a number is in the IR.
fn word(number: Num) -> u32 {
    match number {
        Num::U24(x) | Num::U32(x) => x,
        Num::I24(x) | Num::I32(x) => x as u32,
        Num::F24(x) | Num::F32(x) => x.to_bits(),
    }
}

/// Words in which numbers of each kind have their edges, and others.
fn patterns() -> impl Iterator<Item = u32> {
    let mut words = Words(7);
    let bounds = [8388607.0, 8388608.0, 16777215.0, 16777216.0, 2147483648.0, 4294967296.0];
    let bounds = bounds.into_iter().flat_map(|x: f32| [x, x - 0.5, x + 1.0, -x, 1.0 - x, -x - 0.5]);
    // A bit beyond the 24, in the middle or beside it, for either parity of the last one kept.
    let ties =
        (0..0x400).flat_map(|low| [0x3f80_0000, 0x7f7f_fc00, 0x8000_0000, 0x40_0000, 0xffff_fc00].map(|x| x | low));
    let floats = edges().into_iter().chain(bounds).map(f32::to_bits);
    let shifted = (0..20_000).map(move |i| words.word() >> (i % 32) << (i % 7));
    floats.chain(ties).chain(shifted)
}

/// Holds a conversion to what it makes of each word, and its shape to the types.
fn hold_conversion(how: Conversion, from: Type, to: Type, cases: &[(u32, u32)]) {
    let converted: Vec<u32> = match how {
        Conversion::Call(name) => {
            let f = &library().functions[library().find(name).expect(name)];
            assert_eq!((f.ty(f.params[0]), f.params.len(), &f.results[..]), (from, 1, &[to][..]), "{name}");
            results(name, &cases.iter().map(|(x, _)| vec![u64::from(*x)]).collect::<Vec<_>>())
        }
        Conversion::Bitcast => {
            assert_ne!(from, to);
            cases.iter().map(|(x, _)| *x).collect()
        }
        Conversion::Same => {
            assert_eq!(from, to);
            cases.iter().map(|(x, _)| *x).collect()
        }
        Conversion::Convert => {
            let name = |ty| {
                if ty == Type::U32 {
                    "u32"
                } else if ty == Type::I32 {
                    "i32"
                } else {
                    "f32"
                }
            };
            let (from, to) = (name(from), name(to));
            let source = format!("fn @f(%x: {from}) -> {to} {{\n  return (convert.{to} %x)\n}}\n");
            let module = verify(text::parse(Span::NONE.source, &source).expect("right text").module).expect("right IR");
            let rows: Vec<Vec<u64>> = cases.iter().map(|(x, _)| vec![u64::from(*x)]).collect();
            let id = module.find("f").expect("it is there");
            let found = call_each(&module, id, &rows, &Options::default()).expect("it runs");
            found.into_iter().map(|row| row[0] as u32).collect()
        }
    };
    for ((x, want), got) in cases.iter().zip(converted) {
        let equal = if to == Type::F32 { same(got, *want) } else { got == *want };
        assert!(equal, "{how:?} of {x:#x} is {got:#x}, not {want:#x}");
    }
}

#[test]
fn conversions_between_kinds() {
    for from in NumKind::ALL {
        let numbers: Vec<Num> = patterns().map(|bits| Num::from_bits(from, bits)).collect();
        for to in NumKind::ALL {
            let cases: Vec<(u32, u32)> = numbers.iter().map(|x| (word(*x), word(x.to(to)))).collect();
            hold_conversion(conversion(from, to), family(from), family(to), &cases);
        }
    }
}

#[test]
fn bits_of_numbers() {
    for kind in NumKind::ALL {
        let made: Vec<(u32, u32)> = patterns().map(|bits| (bits, word(Num::from_bits(kind, bits)))).collect();
        hold_conversion(from_bits(kind), Type::U32, family(kind), &made);
        let taken: Vec<(u32, u32)> =
            patterns().map(|bits| Num::from_bits(kind, bits)).map(|number| (word(number), number.bits())).collect();
        hold_conversion(to_bits(kind), family(kind), Type::U32, &taken);
    }
}

#[test]
fn rounding_makes_all_nans_one() {
    let nans = [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xff80_0001, 0x7fff_ffff, 0xffff_ffff];
    let found = results(ROUND24, &nans.map(|x| vec![x]));
    assert_eq!(found, nans.map(|_| f32::NAN.to_bits()));
}

#[test]
fn functions_have_the_shape_that_is_promised() {
    for which in MathFunction::ALL {
        let f = &library().functions[library().find(function(which)).expect("it is in the library")];
        assert_eq!(f.params.iter().map(|v| f.ty(*v)).collect::<Vec<_>>(), vec![Type::F32; which.arity()], "{}", f.name);
        assert_eq!(f.results, [Type::F32], "{}", f.name);
    }
}

#[test]
fn one_division_and_one_root_are_all_that_floats_compute() {
    let mut computed = vec![];
    for f in verified().functions.iter() {
        assert!(f.name.starts_with("bend."), "{}", f.name);
        f.walk(f.body, &mut |_, inst| {
            let moved = matches!(inst.op, Op::Bitcast | Op::Convert | Op::Select);
            if inst.ty.and_then(Type::element) == Some(Scalar::F32) && !moved {
                computed.push((f.name.to_string(), inst.op));
            }
        });
    }
    computed.sort_by_key(|(name, _)| name.clone());
    assert_eq!(computed, [("bend.log".to_string(), Op::Div), ("bend.sqrt".to_string(), Op::Sqrt)]);
}

#[test]
fn the_text_is_printed_and_read_again() {
    let printed = text::print(library());
    let again = text::parse(Span::NONE.source, &printed).expect("printed text is read");
    assert_eq!(text::print(&again.module), printed);
    assert!(FILES.iter().all(|(_, text)| text.starts_with("; ") && text.lines().all(|line| line.len() <= 120)));
}
