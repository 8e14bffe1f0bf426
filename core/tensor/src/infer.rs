//! The rules of shapes and elements: the type of an operation's result.
//!
//! An error is one sentence that names the operation and shows the types of all operands.

use super::Made;
use super::attrs::{Attr, AttrKind, Holds};
use super::graph::list;
use super::ops::Op;
use super::row::Arity;
use super::schedule::MOST_COLUMNS;
use super::size::{Shape, TensorType};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Scalar, ScalarSet};

type Types<'a> = [&'a TensorType];

/// The most dimensions.
pub const MOST_RANK: usize = 12;
/// The most elements: positions are signed numbers of 32 bits in kernels, and those of the last tile may lie this far behind the last element.
const MOST_ELEMENTS: u64 = (1 << 31) - 4096;

/// The type of an operation's result.
pub fn result(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let row = op.row();
    let fits = match row.arity {
        Arity::Exactly(count) => types.len() == count,
        Arity::Some => !types.is_empty(),
    };
    if !fits {
        return shape_error(op, types, "has the wrong number of operands");
    }
    if !attrs.iter().map(Attr::kind).eq(row.attrs.iter().copied()) || !attrs.iter().all(holds) {
        return shape_error(op, types, "has the wrong attributes");
    }
    let deciding = if op == Op::Where { 1 } else { 0 };
    if let Some(ty) = types.get(deciding)
        && !row.set.has(ty.element)
    {
        return type_error(op, types, &format!("does not take elements of type {}", ty.element));
    }
    let ty = (row.infer)(op, types, attrs)?;
    // Dimensions of length 0 count as 1, so that no product of some of the lengths is too large either.
    let elements = ty.shape.lengths().iter().try_fold(1u64, |all, length| all.checked_mul(*length.max(&1)));
    if ty.shape.rank() > MOST_RANK || elements.is_none_or(|all| all > MOST_ELEMENTS) {
        let limit = format!("a tensor has at most {MOST_RANK} dimensions and {MOST_ELEMENTS} elements");
        return shape_error(op, types, &format!("would give {ty}, but {limit}"));
    }
    fitting(op, types, attrs, ty.element)?;
    Ok(ty)
}

fn holds(attr: &Attr) -> bool {
    matches!(
        (attr, attr.kind().holds()),
        (Attr::List(..), Holds::List) | (Attr::Number(..), Holds::Number) | (Attr::Element(..), Holds::Element)
    )
}

/// Refuses numbers that are none of the result's type: 0.5 among integers. Bounds of `clamp` may be beyond the type.
fn fitting(op: Op, types: &Types<'_>, attrs: &[Attr], element: Scalar) -> Made<()> {
    for attr in attrs {
        let Attr::Number(kind, number) = attr else { continue };
        let number_of_type = if op == Op::Clamp && number.is_whole() { number.within(element) } else { *number };
        if !number_of_type.is_of(element) {
            return type_error(
                op,
                types,
                &format!("has {number} in `{}`, which is no number of type {element}", kind.name()),
            );
        }
    }
    Ok(())
}

fn sentence(op: Op, types: &Types<'_>, why: &str) -> String {
    let shown: Vec<String> = types.iter().map(ToString::to_string).collect();
    match shown.as_slice() {
        [] => format!("`{}` {why}", op.name()),
        shown => format!("`{}` of {} {why}", op.name(), shown.join(" and ")),
    }
}
fn shape_error<T>(op: Op, types: &Types<'_>, why: &str) -> Made<T> {
    Err(Diagnostic::new(Code::TensorShape, Span::NONE, sentence(op, types, why)))
}
fn type_error<T>(op: Op, types: &Types<'_>, why: &str) -> Made<T> {
    Err(Diagnostic::new(Code::TensorType, Span::NONE, sentence(op, types, why)))
}

/// One axis that is there.
fn axis(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<usize> {
    match list(attrs, AttrKind::Axis) {
        [axis] if (*axis as usize) < types[0].shape.rank() => Ok(*axis as usize),
        _ => shape_error(op, types, "names an axis that is not there"),
    }
}
/// Axes that are there, each once.
fn axes<'a>(op: Op, types: &Types<'_>, attrs: &'a [Attr]) -> Made<&'a [u64]> {
    let axes = list(attrs, AttrKind::Axes);
    let rank = types[0].shape.rank() as u64;
    let once = axes.iter().enumerate().all(|(i, axis)| *axis < rank && !axes[..i].contains(axis));
    if once { Ok(axes) } else { shape_error(op, types, "names an axis that is not there, or one twice") }
}
/// Exactly so many numbers.
fn numbers<const N: usize>(op: Op, types: &Types<'_>, attrs: &[Attr], kind: AttrKind) -> Made<[u64; N]> {
    match list(attrs, kind).try_into() {
        Ok(numbers) => Ok(numbers),
        Err(_) => shape_error(op, types, &format!("needs {N} numbers in `{}`", kind.name())),
    }
}
/// A number that is not 0.
fn positive<const N: usize>(op: Op, types: &Types<'_>, attrs: &[Attr], kind: AttrKind) -> Made<[u64; N]> {
    let all: [u64; N] = numbers(op, types, attrs, kind)?;
    if all.contains(&0) { shape_error(op, types, &format!("has 0 in `{}`", kind.name())) } else { Ok(all) }
}
fn element(attrs: &[Attr]) -> Scalar {
    let found = |attr: &Attr| match attr {
        Attr::Element(_, scalar) => Some(*scalar),
        Attr::List(..) | Attr::Number(..) => None,
    };
    attrs.iter().find_map(found).unwrap_or(Scalar::F32)
}

/// All operands have one type, which the result has too.
pub fn same(op: Op, types: &Types<'_>, _: &[Attr]) -> Made<TensorType> {
    let first = types[0];
    if types.iter().any(|ty| ty.shape != first.shape) {
        return shape_error(op, types, "needs operands of one shape");
    }
    if types.iter().any(|ty| ty.element != first.element) {
        return type_error(op, types, "needs operands of one element type");
    }
    Ok(first.clone())
}
/// Truth values of the operands' shape.
pub fn truth(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    Ok(same(op, types, attrs)?.with_element(Scalar::Bool))
}
/// A condition, and two of one type.
pub fn select(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    if types[0].element != Scalar::Bool {
        return type_error(op, types, "needs a condition of type bool");
    }
    let chosen = same(op, &types[1..], attrs)?;
    if chosen.shape != types[0].shape {
        return shape_error(op, types, "needs operands of one shape");
    }
    Ok(chosen)
}
/// Another element type.
pub fn converted(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let to = element(attrs);
    if !TensorType::ELEMENTS.has(to) {
        return type_error(op, types, &format!("cannot give elements of type {to}"));
    }
    Ok(types[0].with_element(to))
}
/// What the attributes say.
pub fn created(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let to = element(attrs);
    if !TensorType::ELEMENTS.has(to) {
        return type_error(op, types, &format!("cannot give elements of type {to}"));
    }
    Ok(TensorType::of(to, list(attrs, AttrKind::Sizes)))
}
/// The same, of numbers, with an axis.
pub fn iota(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let ty = created(op, types, attrs)?;
    axis(op, &[&ty], attrs)?;
    if ScalarSet::NUMBERS.has(ty.element) { Ok(ty) } else { type_error(op, types, "gives numbers, not truth values") }
}
/// Floats of 32 bits of the stated shape.
pub fn random(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    if types.iter().any(|ty| ty.shape.rank() != 0 || ty.element != Scalar::U64) {
        return type_error(op, types, "needs a seed and an offset of type u64[]");
    }
    Ok(TensorType::of(Scalar::F32, list(attrs, AttrKind::Sizes)))
}
/// Without the reduced axes.
pub fn reduced(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axes = axes(op, types, attrs)?;
    if axes.iter().any(|axis| types[0].shape.length(*axis as usize) == 0) {
        return shape_error(op, types, "reduces a dimension of length 0");
    }
    Ok(types[0].with_shape(types[0].shape.without(axes)))
}
/// Positions, without the axis.
pub fn position(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axis = axis(op, types, attrs)?;
    if types[0].shape.length(axis) == 0 {
        return shape_error(op, types, "reduces a dimension of length 0");
    }
    Ok(TensorType { element: Scalar::I64, shape: types[0].shape.without(&[axis as u64]) })
}
/// So many positions along the axis.
pub fn sorted(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axis = axis(op, types, attrs)?;
    let [length] = numbers(op, types, attrs, AttrKind::Length)?;
    if length > types[0].shape.length(axis) {
        return shape_error(op, types, &format!("has no {length} elements along axis {axis}"));
    }
    Ok(with_length(types[0], axis, length).with_element(Scalar::I64))
}
/// So many positions in each row of two halves.
pub fn merged(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let [length] = numbers(op, types, attrs, AttrKind::Length)?;
    let shape = &types[0].shape;
    let Some(last) = shape.rank().checked_sub(1).filter(|last| shape.length(*last).is_multiple_of(2)) else {
        return shape_error(op, types, "needs rows of two halves");
    };
    if length > shape.length(last) {
        return shape_error(op, types, &format!("has no {length} elements in a row"));
    }
    Ok(with_length(types[0], last, length).with_element(Scalar::I32))
}
/// The operand's type, along axes that are there.
pub fn along(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    if op.row().attrs.contains(&AttrKind::Axis) {
        axis(op, types, attrs)?;
    } else {
        axes(op, types, attrs)?;
    }
    Ok(types[0].clone())
}
/// The operand's type, along an axis that one tile holds.
pub fn scan(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axis = axis(op, types, attrs)?;
    if types[0].shape.length(axis) > MOST_COLUMNS {
        return shape_error(op, types, &format!("takes at most {MOST_COLUMNS} elements; `cumsum` takes more"));
    }
    Ok(types[0].clone())
}
/// Dimensions of length 1 repeated.
pub fn broadcast(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let sizes = list(attrs, AttrKind::Sizes);
    let lengths = types[0].shape.lengths();
    if sizes.len() != lengths.len() || lengths.iter().zip(sizes).any(|(from, to)| from != to && *from != 1) {
        return shape_error(
            op,
            types,
            &format!("cannot give the shape {}: only dimensions of length 1 are repeated", Shape::of(sizes)),
        );
    }
    Ok(types[0].with_shape(Shape::of(sizes)))
}
/// Another shape of as many elements.
pub fn reshape(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let shape = Shape::of(list(attrs, AttrKind::Sizes));
    if shape.elements() != types[0].shape.elements() {
        let (from, to) = (types[0].shape.elements(), shape.elements());
        return shape_error(op, types, &format!("cannot give the shape {shape}: {from} elements are not {to}"));
    }
    Ok(types[0].with_shape(shape))
}
/// Each axis once, in another order.
pub fn permute(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axes = axes(op, types, attrs)?;
    if axes.len() != types[0].shape.rank() {
        return shape_error(op, types, "needs each axis once");
    }
    let lengths: Vec<u64> = axes.iter().map(|axis| types[0].shape.length(*axis as usize)).collect();
    Ok(types[0].with_shape(Shape::of(&lengths)))
}
/// Fewer positions.
pub fn slice(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let rank = types[0].shape.rank();
    let [start, end, step] = [AttrKind::Start, AttrKind::End, AttrKind::Step].map(|kind| list(attrs, kind));
    if [start, end, step].iter().any(|list| list.len() != rank) {
        return shape_error(op, types, "needs a start, an end and a step for each dimension");
    }
    let fits = |i: usize| start[i] <= end[i] && end[i] <= types[0].shape.length(i) && step[i] > 0;
    if !(0..rank).all(fits) {
        return shape_error(op, types, &format!("from {start:?} to {end:?} by {step:?} is not inside"));
    }
    let lengths: Vec<u64> = (0..rank).map(|i| (end[i] - start[i]).div_ceil(step[i])).collect();
    Ok(types[0].with_shape(Shape::of(&lengths)))
}
/// More positions.
pub fn pad(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let (low, high) = (list(attrs, AttrKind::Low), list(attrs, AttrKind::High));
    let lengths = types[0].shape.lengths();
    if low.len() != lengths.len() || high.len() != lengths.len() {
        return shape_error(op, types, "needs a `low` and a `high` for each dimension");
    }
    let lengths: Vec<u64> =
        (0..lengths.len()).map(|i| low[i].saturating_add(lengths[i]).saturating_add(high[i])).collect();
    Ok(types[0].with_shape(Shape::of(&lengths)))
}

/// The axis, the other length, stride and dilation of a skewed view.
fn skewed(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<(usize, u64, u64, u64)> {
    let axis = axis(op, types, attrs)?;
    let rank = types[0].shape.rank();
    if axis + 1 == rank {
        return shape_error(op, types, "works along an axis before the last one");
    }
    let [length] = numbers(op, types, attrs, AttrKind::Length)?;
    let [stride] = positive(op, types, attrs, AttrKind::Stride)?;
    let [dilation] = positive(op, types, attrs, AttrKind::Dilation)?;
    Ok((axis, length, stride, dilation))
}
fn with_length(ty: &TensorType, axis: usize, length: u64) -> TensorType {
    let mut lengths = ty.shape.lengths();
    lengths[axis] = length;
    ty.with_shape(Shape::of(&lengths))
}
/// Whether windows lie inside a length.
fn fit_windows(windows: u64, window: u64, stride: u64, dilation: u64, length: u64) -> bool {
    let (Some(before), Some(inside)) = (windows.checked_sub(1), window.checked_sub(1)) else { return true };
    let last = before.checked_mul(stride).and_then(|start| start.checked_add(inside.checked_mul(dilation)?));
    last.is_some_and(|last| last < length)
}
/// Windows of a longer axis.
pub fn skew(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let (axis, length, stride, dilation) = skewed(op, types, attrs)?;
    let shape = &types[0].shape;
    if !fit_windows(length, shape.length(shape.rank() - 1), stride, dilation, shape.length(axis)) {
        return shape_error(op, types, &format!("has no room for {length} windows"));
    }
    Ok(with_length(types[0], axis, length))
}
/// The longer axis of windows.
pub fn unskew(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let (axis, length, stride, dilation) = skewed(op, types, attrs)?;
    let shape = &types[0].shape;
    if !fit_windows(shape.length(axis), shape.length(shape.rank() - 1), stride, dilation, length) {
        return shape_error(op, types, &format!("does not fit into a length of {length}"));
    }
    Ok(with_length(types[0], axis, length))
}
/// How many windows there are; none if not even one fits.
pub fn windows_of(length: u64, window: u64, stride: u64, dilation: u64) -> Option<u64> {
    let one = window.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
    Some(length.checked_sub(one)? / stride + 1)
}
/// The same in a length with padding on both sides.
fn padded_windows(length: u64, padding: u64, window: u64, stride: u64, dilation: u64) -> Option<u64> {
    windows_of(padding.checked_mul(2)?.checked_add(length)?, window, stride, dilation)
}
/// A new last dimension of windows.
pub fn windows(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axis = axis(op, types, attrs)?;
    let [window] = positive(op, types, attrs, AttrKind::Window)?;
    let [stride] = positive(op, types, attrs, AttrKind::Stride)?;
    let [dilation] = positive(op, types, attrs, AttrKind::Dilation)?;
    let Some(count) = windows_of(types[0].shape.length(axis), window, stride, dilation) else {
        return shape_error(op, types, &format!("has no room for a window of {window}"));
    };
    let mut lengths = with_length(types[0], axis, count).shape.lengths();
    lengths.push(window);
    Ok(types[0].with_shape(Shape::of(&lengths)))
}
/// Lengths along the axis add up.
pub fn concat(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axis = axis(op, types, attrs)?;
    let kept = |ty: &TensorType| (ty.shape.rank(), ty.shape.without(&[axis as u64]));
    if types.iter().any(|ty| kept(ty) != kept(types[0])) {
        return shape_error(op, types, &format!("needs operands that differ along axis {axis} alone"));
    }
    if types.iter().any(|ty| ty.element != types[0].element) {
        return type_error(op, types, "needs operands of one element type");
    }
    Ok(with_length(types[0], axis, types.iter().map(|ty| ty.shape.length(axis)).sum()))
}
fn positions(op: Op, types: &Types<'_>) -> Made<()> {
    let fits = ScalarSet::WORDS.or(ScalarSet::WIDE).has(types[1].element);
    if fits { Ok(()) } else { type_error(op, types, "needs positions that are integers of 32 or 64 bits") }
}
/// The shape of the positions.
pub fn gather(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axis = axis(op, types, attrs)?;
    positions(op, types)?;
    let kept = |ty: &TensorType| (ty.shape.rank(), ty.shape.without(&[axis as u64]));
    if kept(types[0]) != kept(types[1]) {
        return shape_error(op, types, &format!("needs operands that differ along axis {axis} alone"));
    }
    Ok(types[0].with_shape(types[1].shape.clone()))
}
/// The first operand's type.
pub fn scatter(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    gather(op, types, attrs)?;
    if types[2].shape != types[1].shape || types[2].element != types[0].element {
        return shape_error(op, types, "needs as many elements as positions, of the first operand's element type");
    }
    Ok(types[0].clone())
}
/// As many slices as positions.
pub fn index_select(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let axis = axis(op, types, attrs)?;
    positions(op, types)?;
    if types[1].shape.rank() != 1 {
        return shape_error(op, types, "needs positions of one dimension");
    }
    Ok(with_length(types[0], axis, types[1].shape.length(0)))
}
/// Rows of the first, columns of the second.
pub fn matmul(op: Op, types: &Types<'_>, _: &[Attr]) -> Made<TensorType> {
    let (a, b) = (types[0].shape.lengths(), types[1].shape.lengths());
    let rank = a.len();
    let fits = rank >= 2 && b.len() == rank && a[..rank - 2] == b[..rank - 2] && a[rank - 1] == b[rank - 2];
    if !fits {
        return shape_error(
            op,
            types,
            "needs as many columns of the first as rows of the second, and equal dimensions before",
        );
    }
    if types[0].element != types[1].element {
        return type_error(op, types, "needs operands of one element type");
    }
    let mut lengths = a;
    lengths[rank - 1] = b[rank - 1];
    Ok(types[0].with_shape(Shape::of(&lengths)))
}
/// Images, channels out, and how many windows there are in height and width.
pub fn conv2d(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let (x, w) = (&types[0].shape, &types[1].shape);
    let stride: [u64; 2] = positive(op, types, attrs, AttrKind::Stride)?;
    let padding: [u64; 2] = numbers(op, types, attrs, AttrKind::Padding)?;
    let dilation: [u64; 2] = positive(op, types, attrs, AttrKind::Dilation)?;
    let [groups] = positive(op, types, attrs, AttrKind::Groups)?;
    if x.rank() != 4
        || w.rank() != 4
        || Some(x.length(1)) != w.length(1).checked_mul(groups)
        || !w.length(0).is_multiple_of(groups)
    {
        return shape_error(
            op,
            types,
            &format!("needs [images, channels, height, width] and [channels out, channels / {groups}, height, width]"),
        );
    }
    if types[0].element != types[1].element {
        return type_error(op, types, "needs operands of one element type");
    }
    let count = |i: usize| padded_windows(x.length(2 + i), padding[i], w.length(2 + i), stride[i], dilation[i]);
    let (Some(height), Some(width)) = (count(0), count(1)) else {
        return shape_error(op, types, "has no room for the window");
    };
    Ok(types[0].with_shape(Shape::of(&[x.length(0), w.length(0), height, width])))
}
/// How many windows there are in the last two of four dimensions.
pub fn pool2d(op: Op, types: &Types<'_>, attrs: &[Attr]) -> Made<TensorType> {
    let x = &types[0].shape;
    let window: [u64; 2] = positive(op, types, attrs, AttrKind::Window)?;
    let stride: [u64; 2] = positive(op, types, attrs, AttrKind::Stride)?;
    let padding: [u64; 2] = numbers(op, types, attrs, AttrKind::Padding)?;
    if x.rank() != 4 {
        return shape_error(op, types, "needs [images, channels, height, width]");
    }
    let count = |i: usize| padded_windows(x.length(2 + i), padding[i], window[i], stride[i], 1);
    let (Some(height), Some(width)) = (count(0), count(1)) else {
        return shape_error(op, types, "has no room for the window");
    };
    Ok(types[0].with_shape(Shape::of(&[x.length(0), x.length(1), height, width])))
}
