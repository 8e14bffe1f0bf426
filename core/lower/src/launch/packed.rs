//! An entry as bytes: everything that a launch needs to know about a kernel whose code a device has kept.

use super::entry::{Entry, LaunchScalar, Slot};
use girih_base::pack::{Packer, Unpacker};
use girih_base::span::{SourceId, Span};
use girih_ir::attrs::Dim;
use girih_ir::{Function, FunctionId, Launch, ParamAttrs, Space, Type};

impl Entry {
    /// Writes it. False, and the bytes are of no use, if a launch needs more than the kernel's parameters and its grid: a `launch` region, or memory
    /// whose length is chosen.
    pub fn pack(&self, to: &mut Packer) -> bool {
        let source = &self.source;
        let Some(launch) = &source.launch else { return false };
        let chosen = source.memories.iter().any(|m| source.as_constant(m.length).is_none());
        let written = source.params.iter().all(|param| type_name(source.ty(*param)).is_some());
        if chosen || launch.prologue.is_some() || !launch.specialisations.is_empty() || !written {
            return false;
        }
        to.piece(source.name.as_bytes());
        span(to, source.span);
        to.list(&source.params, |to, param| {
            let (value, attrs) = (&source.values[*param], source.param_attrs(*param));
            to.piece(value.name.as_deref().unwrap_or_default()).piece(type_name(value.ty).unwrap_or_default());
            to.number(attrs.divisible).number(attrs.align);
            to.number(attrs.readonly).number(attrs.noalias).number(attrs.borrowed);
        });
        launch.workgroup.iter().for_each(|n| {
            to.number(*n);
        });
        to.number(launch.fold).number(launch.cooperative);
        to.list(&self.slots, slot);
        to.number(self.folded);
        self.largest_grid.iter().for_each(|n| {
            to.number(*n);
        });
        for numbers in [&self.aligns, &self.widths] {
            to.list(numbers, |to, number| {
                to.number(*number);
            });
        }
        true
    }

    /// Reads it. The kernel is the first one of its module, and its source has no body.
    pub fn unpack(from: &mut Unpacker<'_>) -> Option<Entry> {
        let name = from.text()?.to_owned();
        let mut source = Function::new(name.as_str(), read_span(from)?);
        let parameters = from.list(|from| {
            let (name, ty) = (from.text()?.to_owned(), named_type(from.text()?)?);
            let (divisible, align) = (from.small()?, from.small()?);
            let (readonly, noalias, borrowed) = (from.truth()?, from.truth()?, from.truth()?);
            Some((name, ty, ParamAttrs { divisible, align, readonly, noalias, borrowed }))
        })?;
        for (name, ty, attrs) in parameters {
            source.param(name.as_str(), ty, attrs);
        }
        let workgroup = three(from)?;
        let (fold, cooperative) = (from.truth()?, from.truth()?);
        source.launch = Some(Launch { workgroup, fold, cooperative, ..Launch::default() });
        let slots = from.list(read_slot)?;
        let count = source.params.len();
        if !slots.iter().all(|slot| argument(*slot).is_none_or(|i| i < count)) {
            return None;
        }
        let (folded, largest_grid) = (from.truth()?, three(from)?);
        let (aligns, widths) = (from.list(|from| from.small())?, from.list(|from| from.small())?);
        Some(Entry { kernel: FunctionId::new(0), slots, source, folded, largest_grid, aligns, widths })
    }
}

/// Writes a place.
pub fn span(to: &mut Packer, span: Span) {
    to.number(span.source.index() as u64).number(span.start).number(span.end);
}

/// Reads one.
pub fn read_span(from: &mut Unpacker<'_>) -> Option<Span> {
    Some(Span { source: SourceId::new(from.small()?), start: from.small()?, end: from.small()? })
}

/// The name of a parameter's type; none for those that no kernel of a language has.
pub fn type_name(ty: Type) -> Option<&'static str> {
    match ty {
        Type::Scalar(scalar) => Some(scalar.name()),
        Type::Memory(Space::Global) => Some("buffer"),
        Type::Memory(Space::Shared | Space::Private)
        | Type::Vector(..)
        | Type::Regs(..)
        | Type::Coop(..)
        | Type::Tile(_)
        | Type::Token
        | Type::Term => None,
    }
}

/// The type of that name.
pub fn named_type(name: &str) -> Option<Type> {
    match name {
        "buffer" => Some(Type::Memory(Space::Global)),
        name => girih_ir::Scalar::from_name(name).map(Type::Scalar),
    }
}

fn three(from: &mut Unpacker<'_>) -> Option<[u32; 3]> {
    Some([from.small()?, from.small()?, from.small()?])
}

/// The argument that a parameter comes from.
fn argument(slot: Slot) -> Option<usize> {
    match slot {
        Slot::Buffer(i) | Slot::Scalar(LaunchScalar::Argument(i)) | Slot::Word(LaunchScalar::Argument(i), _) => Some(i),
        // There is no `launch` region that would define any.
        Slot::Scalar(LaunchScalar::Derived(_)) | Slot::Word(LaunchScalar::Derived(_), _) => Some(usize::MAX),
        Slot::Traps | Slot::Scalar(LaunchScalar::GridSize(_)) | Slot::Word(LaunchScalar::GridSize(_), _) => None,
    }
}

fn slot(to: &mut Packer, slot: &Slot) {
    match slot {
        Slot::Buffer(i) => to.number(0u8).number(*i as u64),
        Slot::Traps => to.number(1u8),
        Slot::Scalar(source) => scalar(to.number(2u8), *source),
        Slot::Word(source, word) => scalar(to.number(3u8).number(*word), *source),
    };
}

fn read_slot(from: &mut Unpacker<'_>) -> Option<Slot> {
    match from.number()? {
        0 => Some(Slot::Buffer(from.small()?)),
        1 => Some(Slot::Traps),
        2 => Some(Slot::Scalar(read_scalar(from)?)),
        3 => {
            let word = from.small::<u8>().filter(|word| *word < 2)?;
            Some(Slot::Word(read_scalar(from)?, word))
        }
        _other => None,
    }
}

fn scalar(to: &mut Packer, source: LaunchScalar) -> &mut Packer {
    match source {
        LaunchScalar::Argument(i) => to.number(0u8).number(i as u64),
        LaunchScalar::Derived(i) => to.number(1u8).number(i as u64),
        LaunchScalar::GridSize(dim) => to.number(2u8).number(dim as u64),
    }
}

fn read_scalar(from: &mut Unpacker<'_>) -> Option<LaunchScalar> {
    match (from.number()?, from.small::<usize>()?) {
        (0, i) => Some(LaunchScalar::Argument(i)),
        (1, i) => Some(LaunchScalar::Derived(i)),
        (2, i) => Dim::ALL.get(i).copied().map(LaunchScalar::GridSize),
        _other => None,
    }
}
