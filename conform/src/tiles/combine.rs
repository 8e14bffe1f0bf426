//! Statements that put elements together: reductions, scans and products of matrices.

use super::TileWriter;
use girih_ir::attrs::{Attr, Precision};
use girih_ir::{Op, Scalar, Shape, Type, ValueId};

impl TileWriter<'_> {
    /// A reduction along an axis, by an operation or by one that keeps the order of elements.
    pub(super) fn reduced(&mut self, axis: usize, shape: Shape) -> ValueId {
        let attrs = [Attr::Axis(axis as u32)];
        let left = shape.without(axis);
        match self.choices.pick(5) {
            0 => {
                let value = self.tile(Scalar::F32, shape);
                let value = self.small(value);
                self.by(Op::TileReduce, &attrs, value, left, Op::Add)
            }
            1 => {
                let value = self.tile(Scalar::F32, shape);
                let op = self.choices.one_of(&[Op::Max, Op::Min]);
                self.by(Op::TileReduce, &attrs, value, left, op)
            }
            2 => self.maps(Op::TileReduce, &attrs, shape, left),
            3 => {
                // The largest, and where it stands first.
                let (value, place) = (self.tile(Scalar::I32, shape), self.numbers(shape));
                let found = self.b.by_element(Op::TileReduce, &attrs, &[value, place], left, |b, p| {
                    let more = b.op(Op::Gt, Scalar::I32, &[p[0], p[2]]);
                    let equal = b.op(Op::Eq, Scalar::I32, &[p[0], p[2]]);
                    let before = b.op(Op::Lt, Scalar::I32, &[p[1], p[3]]);
                    let tied = b.op(Op::And, Scalar::Bool, &[equal, before]);
                    let first = b.op(Op::Or, Scalar::Bool, &[more, tied]);
                    vec![
                        b.op(Op::Select, Scalar::I32, &[first, p[0], p[2]]),
                        b.op(Op::Select, Scalar::I32, &[first, p[1], p[3]]),
                    ]
                });
                self.keep(found[0]);
                found[1]
            }
            _integers => {
                let value = self.tile(Scalar::I32, shape);
                let op = self.choices.one_of(&[Op::Add, Op::Xor, Op::Max, Op::Min, Op::And, Op::Or]);
                self.by(Op::TileReduce, &attrs, value, left, op)
            }
        }
    }

    pub(super) fn by(&mut self, op: Op, attrs: &[Attr], value: ValueId, shape: Option<Shape>, combine: Op) -> ValueId {
        let element = self.element(value);
        self.b.by_element(op, attrs, &[value], shape, |b, p| vec![b.op(combine, element, &[p[0], p[1]])])[0]
    }

    /// Maps x -> a x + b, one after the other: their order matters.
    pub(super) fn maps(&mut self, op: Op, attrs: &[Attr], shape: Shape, left: Option<Shape>) -> ValueId {
        let factors = [self.tile(Scalar::U32, shape), self.tile(Scalar::U32, shape)];
        let found = self.b.by_element(op, attrs, &factors, left, |b, p| {
            let (a, moved) = (b.op(Op::Mul, Scalar::U32, &[p[0], p[2]]), b.op(Op::Mul, Scalar::U32, &[p[1], p[2]]));
            vec![a, b.op(Op::Add, Scalar::U32, &[moved, p[3]])]
        });
        self.keep(found[0]);
        found[1]
    }

    pub(super) fn reduce(&mut self) {
        let shape = self.some_shape();
        let axis = self.choices.pick(shape.rank());
        let value = self.reduced(axis, shape);
        self.keep(value);
    }

    /// What a reduction gives, for each element again.
    pub(super) fn spread_back(&mut self) {
        let shape = self.some_shape();
        let axis = self.choices.pick(shape.rank());
        let value = self.reduced(axis, shape);
        let element = self.element(value);
        let ty = Type::tile(shape, element);
        let value = if self.shape(value).is_some() {
            let mut lengths = shape.to_vec();
            lengths[axis] = 1;
            let line = self.reshaped(value, Shape::of(&lengths).expect("powers of two"));
            self.b.op(Op::TileBroadcast, ty, &[line])
        } else {
            self.b.op(Op::TileSplat, ty, &[value])
        };
        self.keep(value);
    }

    pub(super) fn scan(&mut self) {
        let shape = self.some_shape();
        let mut attrs = vec![Attr::Axis(self.choices.pick(shape.rank()) as u32)];
        attrs.extend((self.choices.pick(2) == 1).then_some(Attr::Reverse));
        let value = match self.choices.pick(3) {
            0 => {
                let value = self.tile(Scalar::I32, shape);
                self.by(Op::TileScan, &attrs, value, Some(shape), Op::Add)
            }
            1 => self.maps(Op::TileScan, &attrs, shape, Some(shape)),
            _floats => {
                let value = self.tile(Scalar::F32, shape);
                self.by(Op::TileScan, &attrs, value, Some(shape), Op::Max)
            }
        };
        self.keep(value);
    }

    /// A matrix product of small numbers.
    pub(super) fn dot(&mut self) {
        let lengths = [16u64, 32];
        let [m, n, k] = [(); 3].map(|()| self.choices.one_of(&lengths));
        let shape = |lengths: [u64; 2]| Shape::of(&lengths).expect("powers of two");
        let kind = self.choices.pick(4);
        let turned = self.choices.pick(2) == 1;
        let (left, right) = (shape([m, k]), if turned { shape([n, k]) } else { shape([k, n]) });
        let (factor, sum) = match kind {
            0 => (Scalar::F16, Scalar::F32),
            1 => (Scalar::F32, Scalar::F32),
            2 => (Scalar::Bf16, Scalar::F32),
            _bytes => (Scalar::I8, Scalar::I32),
        };
        let mut factors = vec![];
        for shape in [left, right] {
            let value = self.tile(if factor == Scalar::I8 { Scalar::I32 } else { Scalar::F32 }, shape);
            let value = if factor == Scalar::I8 { value } else { self.small(value) };
            factors.push(self.converted(value, factor));
        }
        if turned {
            factors[1] = self.permuted(factors[1], &[1, 0]);
        }
        let out = shape([m, n]);
        let first = self.tile(sum, out);
        let first = if sum == Scalar::F32 { self.small(first) } else { first };
        let attrs: &[Attr] = if kind == 1 { &[Attr::Precision(Precision::Tf32)] } else { &[] };
        let id = self.b.op_with(Op::TileDot, Some(Type::tile(out, sum)), &[factors[0], factors[1], first], attrs);
        let value = self.b.function.insts[id].results[0];
        self.keep(value);
    }
}
