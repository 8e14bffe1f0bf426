//! How a memory is seen: a buffer, a shared or a private array is bytes to the IR, and an array of one element type (or, for a
//! buffer, several arrays under several bindings) to a shading language.
//!
//! Invariant: each access of a kernel goes through exactly one view, whose element is not wider than the access and is made of
//! the same number of bytes a lane or fewer; an access is then one or several elements of its view.

use super::divisibility::Multiples;
use super::error;
use girih_base::diag::Diagnostic;
use girih_base::span::Span;
use girih_ir::ops::Effect;
use girih_ir::{Caps, Function, Inst, Op, Scalar, Space, Type, ValueId};

/// An array type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct View {
    /// What a lane of an element is.
    pub scalar: Scalar,
    /// 1, 2 or 4 lanes an element.
    pub lanes: u8,
    /// Whether elements are atomic.
    pub atomic: bool,
}

impl View {
    const fn plain(scalar: Scalar, lanes: u8) -> View {
        View { scalar, lanes, atomic: false }
    }
    const fn atomic(scalar: Scalar) -> View {
        View { scalar, lanes: 1, atomic: true }
    }
    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        self.scalar.bytes() * self.lanes as u32
    }
}

/// What an instruction does with a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The memory's handle.
    pub memory: ValueId,
    /// What is read or written.
    pub kind: AccessKind,
    /// For a fragment, the bytes that its rows begin at multiples of, as far as that is known: 1 to 16.
    pub aligned: u32,
    /// Where it stands.
    pub span: Span,
}

/// The ways to reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load or store of so many lanes.
    Plain(Scalar, u32),
    /// An atomic operation, and which.
    Atomic(Scalar, Op),
    /// A fragment, through a pointer to its element.
    Fragment(Scalar),
}

impl AccessKind {
    const fn bytes(self) -> u32 {
        match self {
            AccessKind::Plain(s, n) => s.bytes() * n,
            AccessKind::Atomic(s, _) | AccessKind::Fragment(s) => s.bytes(),
        }
    }
    const fn scalar(self) -> Scalar {
        match self {
            AccessKind::Plain(s, _) | AccessKind::Atomic(s, _) | AccessKind::Fragment(s) => s,
        }
    }
}

/// What an instruction does with memory, if it does something.
pub fn access(inst: &Inst) -> Option<Access> {
    let memory = *inst.operands.first().filter(|_| inst.op.accesses() > 0)?;
    let ty = inst.ty?;
    let element = inst.element();
    let kind = if is_atomic(inst.op) {
        AccessKind::Atomic(element, inst.op)
    } else if matches!(inst.op, Op::CoopLoad | Op::CoopStore) {
        AccessKind::Fragment(element)
    } else {
        // Asynchronous accesses are refused where they are rendered.
        AccessKind::Plain(element, ty.lanes().max(1))
    };
    Some(Access { memory, kind, aligned: element.bytes(), span: inst.span })
}

/// Whether an operation is an atomic access.
pub fn is_atomic(op: Op) -> bool {
    op.row().effect == Effect::Atomic
}

/// All accesses of a function, in order.
pub fn accesses(function: &Function) -> Vec<Access> {
    let mut found = vec![];
    let mut multiples = None;
    function.walk(function.body, &mut |_, inst| {
        let Some(mut access) = access(inst) else { return };
        if matches!(access.kind, AccessKind::Fragment(_)) {
            access.aligned = rows(multiples.get_or_insert_with(|| Multiples::of(function)), inst);
        }
        found.push(access);
    });
    debug_assert!(found.iter().all(|a| matches!(function.ty(a.memory), Type::Memory(_))));
    found
}

/// The bytes that the rows of a fragment begin at multiples of.
fn rows(multiples: &Multiples<'_>, inst: &Inst) -> u32 {
    let bytes = inst.element().bytes();
    // A fragment's stride is its last operand.
    let (Some(index), Some(stride)) = (inst.operands.get(1), inst.operands.last()) else { return bytes };
    let all = |log: &u32| {
        (inst.offset() as u32).trailing_zeros() >= *log && multiples.has(*index, *log) && multiples.has(*stride, *log)
    };
    let most = (16 / bytes).max(1).trailing_zeros();
    bytes << (0..=most).rev().find(all).unwrap_or(0)
}

/// The views of a memory, chosen from what a function does with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views {
    views: Vec<View>,
}

impl Views {
    /// The views of a buffer. `several` says whether one buffer may be bound more than once.
    pub fn of_buffer(accesses: &[Access], caps: &Caps, several: bool) -> Result<Views, Diagnostic> {
        if several {
            let mut views: Vec<View> = accesses.iter().map(|a| natural(a.kind, caps)).collect();
            views.sort_unstable();
            views.dedup();
            // All words of a width under one view: as `f32` only if that is all there is.
            for lanes in [1, 2, 4] {
                let plain = View::plain(Scalar::U32, lanes);
                if views.contains(&plain) && !fragments(accesses, Scalar::F32) {
                    views.retain(|v| *v != View::plain(Scalar::F32, lanes));
                }
            }
            return Ok(Views { views });
        }
        Views::single(accesses, Space::Global)
    }

    /// The view of a shared or private array. `vectors` says whether fragments may be reached through vectors.
    pub fn of_local(accesses: &[Access], space: Space, vectors: bool) -> Result<Views, Diagnostic> {
        match around_fragments(accesses).filter(|_| vectors && space == Space::Shared) {
            Some(view) => Ok(Views { views: vec![view] }),
            None => Views::single(accesses, space),
        }
    }

    /// All views, in the order of their bindings. None for a memory that is not accessed.
    pub fn all(&self) -> &[View] {
        &self.views
    }

    fn single(accesses: &[Access], space: Space) -> Result<Views, Diagnostic> {
        let Some(first) = accesses.first() else { return Ok(Views::default()) };
        let least = accesses.iter().map(|a| a.kind.scalar().bytes()).min().unwrap_or(4);
        let view = if accesses.iter().any(|a| matches!(a.kind, AccessKind::Atomic(..))) {
            atomic_view(accesses)
        } else if let Some(fragment) = accesses.iter().find(|a| matches!(a.kind, AccessKind::Fragment(_))) {
            View::plain(fragment.kind.scalar(), 1)
        } else if space == Space::Global {
            let bytes = accesses.iter().map(|a| a.kind.bytes()).min().unwrap_or(4);
            let scalar = common(accesses, least);
            View::plain(scalar, (bytes / scalar.bytes()).clamp(1, 4) as u8)
        } else {
            View::plain(common(accesses, least), 1)
        };
        let misfit = |a: &&Access| !fits(a.kind, view);
        match accesses.iter().find(misfit) {
            None => Ok(Views { views: vec![view] }),
            Some(other) => Err(error::illegal(
                other.span,
                format!("a memory that is read or written as `{}` and as `{}`", view.scalar, other.kind.scalar()),
            )
            .label(first.span, "it is used here too")),
        }
    }

    /// Which view an access goes through.
    pub fn choose(&self, kind: AccessKind, caps: &Caps) -> Option<usize> {
        let wish = natural(kind, caps);
        let exact = self.views.iter().position(|v| *v == wish);
        let alike = |v: &View| !v.atomic && v.bytes() == wish.bytes() && v.lanes == wish.lanes && !wish.atomic;
        exact.or_else(|| self.views.iter().position(alike)).or_else(|| self.views.iter().position(|v| fits(kind, *v)))
    }
}

/// The widest view of an array with fragments, which all begin at its elements: of the fragments' own scalars, or of words.
fn around_fragments(accesses: &[Access]) -> Option<View> {
    let fragment = accesses.iter().find_map(|a| match a.kind {
        AccessKind::Fragment(s) => Some(s),
        AccessKind::Plain(..) | AccessKind::Atomic(..) => None,
    })?;
    let mut lanes = 4u32;
    let (mut words, mut own) = (true, true);
    for access in accesses {
        match access.kind {
            AccessKind::Atomic(..) => return None,
            AccessKind::Fragment(s) if s != fragment => return None,
            AccessKind::Fragment(_) => {}
            AccessKind::Plain(s, n) => {
                lanes = lanes.min(1 << n.trailing_zeros());
                (words, own) = (words && s.bytes() == 4, own && s == fragment);
            }
        }
    }
    let scalar = match (own, words) {
        (true, _) => fragment,
        (false, true) => Scalar::U32,
        (false, false) => return None,
    };
    let aligned = accesses.iter().filter(|a| matches!(a.kind, AccessKind::Fragment(_))).map(|a| a.aligned).min()?;
    let lanes = [4, 2, 1].into_iter().find(|n| *n <= lanes && n * scalar.bytes() <= aligned)?;
    Some(View::plain(scalar, lanes as u8))
}

fn fragments(accesses: &[Access], scalar: Scalar) -> bool {
    accesses.iter().any(|a| a.kind == AccessKind::Fragment(scalar))
}

/// The view that suits an access best.
fn natural(kind: AccessKind, caps: &Caps) -> View {
    match kind {
        AccessKind::Plain(s, n) => match s.bytes() {
            2 => View::plain(s, n.min(4) as u8),
            8 if caps.arithmetic.has(Scalar::U64) => View::plain(Scalar::U64, n as u8),
            8 if n == 1 => View::plain(Scalar::U32, 2),
            8 => View::plain(Scalar::U32, 4),
            _ if s == Scalar::F32 => View::plain(s, n as u8),
            _ => View::plain(Scalar::U32, n as u8),
        },
        AccessKind::Fragment(s) => View::plain(s, 1),
        AccessKind::Atomic(Scalar::F32, _) => View::atomic(Scalar::F32),
        AccessKind::Atomic(s, Op::AtomicMin | Op::AtomicMax) => View::atomic(s),
        AccessKind::Atomic(s, _) => View::atomic(s.as_bits()),
    }
}

/// The one atomic view for all accesses: signed only if nothing needs the unsigned order.
fn atomic_view(accesses: &[Access]) -> View {
    let ordered = |s: Scalar| {
        accesses.iter().any(|a| matches!(a.kind, AccessKind::Atomic(t, Op::AtomicMin | Op::AtomicMax) if t == s))
    };
    let wide = accesses.iter().all(|a| a.kind.scalar().bytes() == 8);
    let (signed, unsigned) = if wide { (Scalar::I64, Scalar::U64) } else { (Scalar::I32, Scalar::U32) };
    View::atomic(if ordered(signed) && !ordered(unsigned) { signed } else { unsigned })
}

/// The scalar that accesses of a memory with one view are made of.
fn common(accesses: &[Access], least: u32) -> Scalar {
    let first = accesses[0].kind.scalar();
    if accesses.iter().all(|a| a.kind.scalar() == first) && !first.is_integer() {
        return first;
    }
    match least {
        2 => accesses.iter().map(|a| a.kind.scalar()).find(|s| s.bytes() == 2).unwrap_or(Scalar::F16),
        8 => Scalar::U64,
        _ => Scalar::U32,
    }
}

/// Whether an access can be made of elements of a view.
fn fits(kind: AccessKind, view: View) -> bool {
    let bytes = kind.bytes();
    match kind {
        AccessKind::Fragment(s) => !view.atomic && (view.scalar == s || view.scalar == Scalar::U32),
        AccessKind::Atomic(s, _) => view.atomic && bytes == view.bytes() && (s != Scalar::F32 || bytes == 4),
        AccessKind::Plain(s, _) => {
            let lane = view.scalar.bytes();
            bytes.is_multiple_of(view.bytes())
                && s.bytes() >= lane
                // Two bytes cannot be made into four: there is no such bitcast.
                && (lane >= 4 || s.bytes() == lane)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(s: Scalar, n: u32) -> Access {
        Access { memory: ValueId::new(0), kind: AccessKind::Plain(s, n), aligned: 1, span: Span::NONE }
    }
    fn atomic(s: Scalar, op: Op) -> Access {
        Access { memory: ValueId::new(0), kind: AccessKind::Atomic(s, op), aligned: 1, span: Span::NONE }
    }

    #[test]
    fn several_bindings_where_they_are_allowed() {
        let caps = Caps::web();
        let all =
            [plain(Scalar::F32, 4), plain(Scalar::U32, 1), plain(Scalar::F32, 1), atomic(Scalar::U32, Op::AtomicAdd)];
        let views = Views::of_buffer(&all, &caps, true).unwrap();
        assert_eq!(views.all(), [View::plain(Scalar::U32, 1), View::atomic(Scalar::U32), View::plain(Scalar::F32, 4)]);
        for a in all {
            let view = views.all()[views.choose(a.kind, &caps).unwrap()];
            assert!(fits(a.kind, view), "{a:?} through {view:?}");
        }
    }

    #[test]
    fn one_binding_is_atomic_or_as_wide_as_all_accesses_allow() {
        let caps = Caps::web();
        let one = |accesses: &[Access]| Views::of_buffer(accesses, &caps, false).map(|v| v.all().to_vec());
        assert_eq!(one(&[plain(Scalar::F32, 4)]).unwrap(), [View::plain(Scalar::F32, 4)]);
        assert_eq!(one(&[plain(Scalar::F32, 4), plain(Scalar::U32, 4)]).unwrap(), [View::plain(Scalar::U32, 4)]);
        assert_eq!(one(&[plain(Scalar::U32, 4), plain(Scalar::U32, 1)]).unwrap(), [View::plain(Scalar::U32, 1)]);
        let both = [plain(Scalar::U32, 4), atomic(Scalar::I32, Op::AtomicMin)];
        assert_eq!(one(&both).unwrap(), [View::atomic(Scalar::I32)]);
        let order = [atomic(Scalar::U32, Op::AtomicMin), atomic(Scalar::I32, Op::AtomicMin)];
        assert_eq!(one(&order).unwrap(), [View::atomic(Scalar::U32)]);
        assert_eq!(one(&[]).unwrap(), []);
        assert!(one(&[plain(Scalar::F16, 1), plain(Scalar::U32, 1)]).is_err());
    }
}
