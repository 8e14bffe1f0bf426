//! Random numbers: Philox-4x32, a function of a seed and a counter.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Op, Scalar, Type};

/// What the halves of the counter are multiplied by, and what the key grows by in each round (Salmon and others, 2011).
const ROUND: [i128; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY: [i128; 2] = [0x9E37_79B9, 0xBB67_AE85];

impl Body<'_, '_> {
    fn word(&mut self, value: &Value, span: Span) -> Made<Tensor> {
        let tensor = self.tensor(value, span)?;
        if tensor.element().is_float() {
            return self.fail(
                Code::KernelType,
                span,
                format!("random numbers count integers, not {}", value.kind()),
                "",
            );
        }
        Ok(self.cast(tensor, Scalar::U32))
    }

    /// The halves of an integer as words.
    fn halves(&mut self, value: &Value, span: Span) -> Made<[Tensor; 2]> {
        let tensor = self.tensor(value, span)?;
        if tensor.element().is_float() {
            return self.fail(
                Code::KernelType,
                span,
                format!("a seed is an integer, not {}", value.kind()),
                value.hint(),
            );
        }
        let wide = self.cast(tensor, Scalar::U64);
        let shift = self.int(Scalar::U64, 32);
        let shift = self.splat(shift, wide.shape());
        let high = self.op(Op::Shr, wide.ty, &[wide.value, shift]);
        Ok([self.cast(wide, Scalar::U32), self.cast(high, Scalar::U32)])
    }

    fn rounds(&mut self, seed: &Value, counter: [Tensor; 4], rounds: i128, span: Span) -> Made<[Tensor; 4]> {
        let key = self.halves(seed, span)?;
        self.keyed_rounds(key, counter, rounds)
    }

    /// The rounds from a key on.
    fn keyed_rounds(&mut self, key: [Tensor; 2], counter: [Tensor; 4], rounds: i128) -> Made<[Tensor; 4]> {
        let shape = counter[0].shape();
        let [mut k0, mut k1] = key.map(|k| self.broadcast_tensor(k, shape));
        let [mut c0, mut c1, mut c2, mut c3] = counter.map(|c| self.broadcast_tensor(c, shape));
        let ty = Type::block(shape, Scalar::U32);
        let words = |body: &mut Self, values: [i128; 2]| {
            values.map(|n| {
                let n = body.int(Scalar::U32, n);
                body.splat(n, shape)
            })
        };
        let (factors, steps) = (words(self, ROUND), words(self, KEY));
        for _ in 0..rounds {
            let (a, b) = (c0, c2);
            let high_b = self.op(Op::MulHi, ty, &[factors[1], b.value]);
            let high_a = self.op(Op::MulHi, ty, &[factors[0], a.value]);
            let mixed = self.op(Op::Xor, ty, &[high_b.value, c1.value]);
            c0 = self.op(Op::Xor, ty, &[mixed.value, k0.value]);
            let mixed = self.op(Op::Xor, ty, &[high_a.value, c3.value]);
            c2 = self.op(Op::Xor, ty, &[mixed.value, k1.value]);
            c1 = self.op(Op::Mul, ty, &[factors[1], b.value]);
            c3 = self.op(Op::Mul, ty, &[factors[0], a.value]);
            k0 = self.op(Op::Add, ty, &[k0.value, steps[0]]);
            k1 = self.op(Op::Add, ty, &[k1.value, steps[1]]);
        }
        Ok([c0, c1, c2, c3])
    }

    /// Four words for each offset.
    fn four(&mut self, a: &Arguments) -> Made<[Tensor; 4]> {
        let rounds = self.constant_int(a.value(2), "the number of rounds", a.span(2))?;
        let offset = a.tensor(self, 1)?;
        let [low, high] = if offset.element().bits() > 32 {
            self.halves(a.value(1), a.span(1))?
        } else {
            let low = self.word(a.value(1), a.span(1))?;
            let zero = self.int(Scalar::U32, 0);
            [low, Tensor { value: self.splat(zero, low.shape()), ty: low.ty }]
        };
        let zero = self.int(Scalar::U32, 0);
        let zero = Tensor { value: self.splat(zero, low.shape()), ty: low.ty };
        self.rounds(a.value(0), [low, high, zero, zero], rounds, a.call)
    }

    /// A word as a float of 0 to 1, 1 excluded.
    fn uniform(&mut self, word: Tensor) -> Tensor {
        let (shape, signed) = (word.shape(), Type::block(word.shape(), Scalar::I32));
        let x = self.op(Op::Bitcast, signed, &[word.value]);
        let zero = self.int(Scalar::I32, 0);
        let zero = self.splat(zero, shape);
        let negative = self.op(Op::Lt, signed, &[x.value, zero]);
        let flipped = self.op(Op::Not, signed, &[x.value]);
        let x = self.op(Op::Select, signed, &[negative.value, flipped.value, x.value]);
        let x = self.cast(x, Scalar::F32);
        // A little less than 2^-31, so that the greatest word stays below 1.
        let scale = self.float(Scalar::F32, 4.656_612_734_2e-10);
        let scale = self.splat(scale, shape);
        self.op(Op::Mul, x.ty, &[x.value, scale])
    }

    /// An integer of 64 bits as a float of 0 to 1, 1 excluded.
    fn uniform_wide(&mut self, x: Tensor) -> Tensor {
        let (shape, signed) = (x.shape(), Type::block(x.shape(), Scalar::I64));
        let x = self.cast(x, Scalar::I64);
        let zero = self.int(Scalar::I64, 0);
        let zero = self.splat(zero, shape);
        let negative = self.op(Op::Lt, signed, &[x.value, zero]);
        let flipped = self.op(Op::Not, signed, &[x.value]);
        let x = self.op(Op::Select, signed, &[negative.value, flipped.value, x.value]);
        let x = self.cast(x, Scalar::F32);
        // A little less than 2^-63, for the same reason.
        let scale = self.float(Scalar::F32, 1.084_202_043_238_533_7e-19);
        let scale = self.splat(scale, shape);
        self.op(Op::Mul, x.ty, &[x.value, scale])
    }

    /// Two uniform numbers as two of the normal distribution (Box and Muller).
    fn normal(&mut self, u: Tensor, v: Tensor) -> [Tensor; 2] {
        let constant = |body: &mut Self, x: f64| {
            let x = body.float(Scalar::F32, x);
            body.splat(x, u.shape())
        };
        let (least, turn, minus_two) =
            (constant(self, 1e-7), constant(self, std::f64::consts::TAU), constant(self, -2.0));
        let u = self.op(Op::Max, u.ty, &[u.value, least]);
        let angle = self.op(Op::Mul, v.ty, &[v.value, turn]);
        let log = self.op(Op::Log, u.ty, &[u.value]);
        let square = self.op(Op::Mul, u.ty, &[log.value, minus_two]);
        let radius = self.op(Op::Sqrt, u.ty, &[square.value]);
        [Op::Cos, Op::Sin].map(|op| {
            let part = self.op(op, u.ty, &[angle.value]);
            self.op(Op::Mul, u.ty, &[radius.value, part.value])
        })
    }
}

fn tuple(tensors: impl IntoIterator<Item = Tensor>) -> Value {
    Value::Tuple(tensors.into_iter().map(Value::Tensor).collect())
}

/// Words of a place on, in one shape.
fn words<const N: usize>(body: &mut Body<'_, '_>, a: &Arguments, from: usize) -> Made<[Tensor; N]> {
    let mut found = vec![];
    let mut shape = None;
    for i in from..from + N {
        let word = body.word(a.value(i), a.span(i))?;
        shape = body.common_shape(shape, word.shape(), a.call)?;
        found.push(word);
    }
    Ok(std::array::from_fn(|i| body.broadcast_tensor(found[i], shape)))
}

/// `tl.philox(seed, c0, c1, c2, c3, n_rounds)`.
pub(super) fn philox(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let counter = words::<4>(body, a, 1)?;
    let rounds = body.constant_int(a.value(5), "the number of rounds", a.span(5))?;
    body.rounds(a.value(0), counter, rounds, a.call).map(tuple)
}
/// `tl.philox_impl(c0, c1, c2, c3, k0, k1, n_rounds)`.
pub(super) fn philox_impl(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let [c0, c1, c2, c3, k0, k1] = words::<6>(body, a, 0)?;
    let rounds = body.constant_int(a.value(6), "the number of rounds", a.span(6))?;
    body.keyed_rounds([k0, k1], [c0, c1, c2, c3], rounds).map(tuple)
}
/// `tl.uint_to_uniform_float(x)`: of an integer of 32 or 64 bits, signed or not.
pub(super) fn uint_to_uniform_float(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    match x.element() {
        Scalar::I32 | Scalar::U32 => {
            let word = body.cast(x, Scalar::U32);
            Ok(Value::Tensor(body.uniform(word)))
        }
        Scalar::I64 | Scalar::U64 => Ok(Value::Tensor(body.uniform_wide(x))),
        _other => {
            let message = format!("an integer of 32 or 64 bits becomes a uniform float, not {}", a.value(0).kind());
            body.fail(Code::KernelType, a.span(0), message, "convert it to `tl.uint32`")
        }
    }
}
/// `tl.pair_uniform_to_normal(u1, u2)`.
pub(super) fn pair_uniform_to_normal(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (u, v) = body.meet(a.value(0), a.value(1), false, a.call)?;
    if u.element() != Scalar::F32 {
        return body.fail(Code::KernelType, a.call, "uniform numbers are `tl.float32`", "");
    }
    Ok(tuple(body.normal(u, v)))
}
/// `tl.randint4x`.
pub(super) fn randint4x(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.four(a).map(tuple)
}
/// `tl.randint`.
pub(super) fn randint(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::Tensor(body.four(a)?[0]))
}
/// `tl.rand`.
pub(super) fn rand(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let word = body.four(a)?[0];
    Ok(Value::Tensor(body.uniform(word)))
}
/// `tl.rand4x`.
pub(super) fn rand4x(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let words = body.four(a)?;
    Ok(tuple(words.map(|word| body.uniform(word))))
}
/// `tl.randn`.
pub(super) fn randn(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let [x, y, ..] = body.four(a)?;
    let (u, v) = (body.uniform(x), body.uniform(y));
    Ok(Value::Tensor(body.normal(u, v)[0]))
}
/// `tl.randn4x`.
pub(super) fn randn4x(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let [w, x, y, z] = body.four(a)?.map(|word| body.uniform(word));
    let ([a, b], [c, d]) = (body.normal(w, x), body.normal(y, z));
    Ok(tuple([a, b, c, d]))
}
