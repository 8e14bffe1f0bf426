//! Memory as variables: bindings for buffers, the uniform buffer of scalar parameters, arrays for shared and private memory.
//!
//! Shared memories that may overlap are variables of their own, which is the least work for a driver, unless they would not fit: then
//! those of a group that can be seen as one array share one.

use super::error;
use super::layout::Layout;
use super::types;
use super::views::{self, Access, AccessKind, View, Views};
use super::writer::{Expr, ShaderWriter};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Memory, Scalar, Space, Type, ValueId};
use naga::{
    AddressSpace, ArraySize, BinaryOperator, Expression, GlobalVariable, Handle, LocalVariable, MemoryDecorations,
    ResourceBinding, StorageAccess, TypeInner,
};
use std::num::NonZeroU32;

/// Bytes that all shared arrays of a kernel with fragments are a multiple of. Drivers put arrays one behind the other in any order, and a fragment of
/// shorter vectors, whose array needs no more, has to begin at a multiple of 16 all the same.
const FRAGMENT_ALIGN: u64 = 16;

/// How a memory of the function is reached.
#[derive(Clone, Debug)]
pub struct MemoryPlace {
    /// Its views.
    pub views: Views,
    /// For each view, the pointer to its array.
    pub arrays: Vec<Expr>,
    /// For each view, how many elements it has; none for a buffer.
    pub lengths: Vec<Option<u32>>,
    /// The pointer to what stands for an array of words where fragments of shorter numbers are reached: see [`crate::exact_floats`].
    pub shadow: Option<Expr>,
}

/// Memories that are one array, with all accesses to them.
struct Arena {
    members: Vec<ValueId>,
    accesses: Vec<Access>,
    bytes: u64,
}

impl ShaderWriter<'_, '_> {
    /// Bindings for the buffers of a kernel.
    pub(super) fn buffers(&mut self, layout: &Layout, views: Vec<Views>) {
        for (param, views) in views.into_iter().enumerate() {
            let value = self.source.params[param];
            let Type::Memory(_) = self.source.ty(value) else { continue };
            let first = layout.first_binding(param).unwrap_or(0);
            let arrays = (views.all().iter().enumerate())
                .map(|(i, view)| self.buffer(value, *view, (first + i) as u32, layout.bindings[first + i].readonly))
                .collect();
            let lengths = vec![None; views.all().len()];
            self.memories.insert(value, MemoryPlace { views, arrays, lengths, shadow: None });
        }
    }

    fn buffer(&mut self, param: ValueId, view: View, binding: u32, readonly: bool) -> Expr {
        let base = self.element_type(view);
        let ty = self.ty(TypeInner::Array { base, size: ArraySize::Dynamic, stride: view.bytes() });
        let access = if readonly { StorageAccess::LOAD } else { StorageAccess::LOAD | StorageAccess::STORE };
        self.global(GlobalVariable {
            name: self.source.values[param].name.as_ref().map(ToString::to_string),
            space: AddressSpace::Storage { access },
            binding: Some(ResourceBinding { group: 0, binding }),
            ty,
            init: None,
            memory_decorations: MemoryDecorations::empty(),
        })
    }

    fn global(&mut self, variable: GlobalVariable) -> Expr {
        let global = self.context.out.global_variables.append(variable, self.place);
        self.add(Expression::GlobalVariable(global))
    }

    /// The scalar parameters of a kernel, read from the uniform buffer where the body starts.
    pub(super) fn scalars(&mut self, layout: &Layout) -> Result<(), Diagnostic> {
        let Some(binding) = layout.uniform() else { return Ok(()) };
        let vector = types::lanes_type(&mut self.context.out.types, naga::Scalar::U32, 4);
        let size = NonZeroU32::new(layout.word_count.div_ceil(4)).map_or(ArraySize::Dynamic, ArraySize::Constant);
        let ty = self.ty(TypeInner::Array { base: vector, size, stride: 16 });
        let array = self.global(GlobalVariable {
            name: Some("parameters".into()),
            space: AddressSpace::Uniform,
            binding: Some(ResourceBinding { group: 0, binding }),
            ty,
            init: None,
            memory_decorations: MemoryDecorations::empty(),
        });
        for (position, param) in self.source.params.iter().enumerate() {
            let Some(first) = layout.word(position) else { continue };
            let mut words = vec![];
            for word in first..first + Layout::words_of(self.source.ty(*param)) {
                let base = self.add(Expression::AccessIndex { base: array, index: word / 4 });
                let pointer = self.add(Expression::AccessIndex { base, index: word % 4 });
                words.push(self.add(Expression::Load { pointer }));
            }
            let scalar = self.source.ty(*param).element().unwrap_or(Scalar::U32);
            let value = self.scalar_of_words(scalar, &words)?;
            self.define(*param, vec![value]);
        }
        Ok(())
    }

    fn scalar_of_words(&mut self, scalar: Scalar, words: &[Expr]) -> Result<Expr, Diagnostic> {
        Ok(match (scalar, words) {
            (Scalar::Bool, [word]) => {
                let zero = self.u32(0);
                self.binary(BinaryOperator::NotEqual, *word, zero)
            }
            (Scalar::F16, [word]) => self.half_of_bits(*word),
            (_, [low, high]) => {
                let bits = self.join(*low, *high);
                self.bitcast(bits, naga::Scalar::U64, types::legal_scalar(scalar, self.span)?)
            }
            (_, [word]) => self.bitcast(*word, naga::Scalar::U32, types::legal_scalar(scalar, self.span)?),
            _ => return Err(error::internal(self.span, format!("a parameter of type `{scalar}`"))),
        })
    }

    /// Arrays for the shared and private memories.
    pub(super) fn locals_and_shared(&mut self) -> Result<(), Diagnostic> {
        let accesses = views::accesses(self.source);
        for space in [Space::Shared, Space::Private] {
            let apart = self.arenas(space, &accesses, false)?;
            let bytes: u64 = apart.iter().filter(|a| !a.accesses.is_empty()).map(|a| a.bytes).sum();
            let room = u64::from(self.caps().shared_bytes);
            let fits = space == Space::Private || bytes <= room;
            let arenas = if fits { apart } else { self.arenas(space, &accesses, true)? };
            let bytes: u64 = arenas.iter().filter(|a| !a.accesses.is_empty()).map(|a| a.bytes).sum();
            if space == Space::Shared && bytes > room {
                let (kernel, device) = (&self.source.name, &self.caps().name);
                let message =
                    format!("kernel `@{kernel}` has {bytes} bytes of shared memory, but `{device}` allows {room}");
                return Err(Diagnostic::new(Code::OverLimit, self.source.span, message)
                    .hint("shading languages do not let arrays of different types overlap; use smaller blocks"));
            }
            for arena in arenas {
                self.array_for(arena, space)?;
            }
        }
        Ok(())
    }

    /// The memories of a space; those of a group together if they are to overlap.
    fn arenas(&self, space: Space, accesses: &[Access], overlap: bool) -> Result<Vec<Arena>, Diagnostic> {
        let mut arenas: Vec<(u32, Arena)> = vec![];
        let fragments = accesses.iter().any(|a| matches!(a.kind, AccessKind::Fragment(_)));
        let unit = if fragments && space == Space::Shared { FRAGMENT_ALIGN } else { 1 };
        for memory in self.source.memories.iter().filter(|m| m.space == space) {
            let Memory { value, group, element, length, .. } = *memory;
            let length = self
                .source
                .as_constant(length)
                .ok_or_else(|| error::illegal(self.source.span, "shared memory whose length is chosen at launch"))?;
            let bytes = (u64::from(element.bytes()) * length).next_multiple_of(unit);
            let own = accesses.iter().filter(|a| a.memory == value).copied();
            let own: Vec<Access> = own.collect();
            let strict = self.context.options.strict;
            let agree = |arena: &Arena| {
                let all: Vec<Access> = arena.accesses.iter().chain(&own).copied().collect();
                Views::of_local(&all, space, strict).is_ok()
            };
            let with = arenas.iter_mut().find(|(g, arena)| overlap && group != 0 && *g == group && agree(arena));
            match with {
                Some((_, arena)) => {
                    arena.members.push(value);
                    arena.accesses.extend(own);
                    arena.bytes = arena.bytes.max(bytes);
                }
                None => arenas.push((group, Arena { members: vec![value], accesses: own, bytes })),
            }
        }
        Ok(arenas.into_iter().map(|(_, arena)| arena).collect())
    }

    fn array_for(&mut self, arena: Arena, space: Space) -> Result<(), Diagnostic> {
        let views = Views::of_local(&arena.accesses, space, self.context.options.strict)?;
        let Some(view) = views.all().first().copied() else { return Ok(()) };
        let count = u32::try_from(arena.bytes.div_ceil(u64::from(view.bytes()))).unwrap_or(u32::MAX).max(1);
        let name = arena.members.first().and_then(|m| self.source.values[*m].name.as_ref()).map(ToString::to_string);
        let array = self.local_array(name, view, count, space);
        let short = |a: &Access| matches!(a.kind, AccessKind::Fragment(s) if s.bytes() < view.scalar.bytes());
        let shadow = arena.accesses.iter().any(short).then(|| self.shadow(count));
        for member in arena.members {
            let (arrays, lengths) = (vec![array], vec![Some(count)]);
            let place = MemoryPlace { views: views.clone(), arrays, lengths, shadow };
            self.memories.insert(member, place);
        }
        Ok(())
    }

    fn local_array(&mut self, name: Option<String>, view: View, count: u32, space: Space) -> Expr {
        let base = self.element_type(view);
        let size = NonZeroU32::new(count).map_or(ArraySize::Dynamic, ArraySize::Constant);
        let ty = self.ty(TypeInner::Array { base, size, stride: view.bytes() });
        match space {
            Space::Shared => self.global(GlobalVariable {
                name,
                space: AddressSpace::WorkGroup,
                binding: None,
                ty,
                init: None,
                memory_decorations: MemoryDecorations::empty(),
            }),
            Space::Private | Space::Global => {
                let local = self.out.local_variables.append(LocalVariable { name, ty, init: None }, self.place);
                self.add(Expression::LocalVariable(local))
            }
        }
    }

    /// What stands for the array of words that was written last, where naga wants to see the scalars of a fragment. [`crate::exact_floats`] puts the
    /// array there: it is known by its triples, which no other array has, because the IR has no vectors of three.
    fn shadow(&mut self, count: u32) -> Expr {
        let base = types::lanes_type(&mut self.context.out.types, naga::Scalar::F16, 3);
        let size = NonZeroU32::new(count).map_or(ArraySize::Dynamic, ArraySize::Constant);
        let ty = self.ty(TypeInner::Array { base, size, stride: 8 });
        self.global(GlobalVariable {
            name: None,
            space: AddressSpace::WorkGroup,
            binding: None,
            ty,
            init: None,
            memory_decorations: MemoryDecorations::empty(),
        })
    }

    fn element_type(&mut self, view: View) -> Handle<naga::Type> {
        // Views are made of scalars that naga has; see `views::natural`.
        let scalar = types::scalar(view.scalar).unwrap_or(naga::Scalar::U32);
        let types = &mut self.context.out.types;
        if view.atomic {
            types::intern(types, TypeInner::Atomic(scalar))
        } else {
            types::lanes_type(types, scalar, u32::from(view.lanes))
        }
    }

    /// How a memory is reached.
    pub(super) fn memory(&self, handle: ValueId) -> Result<&MemoryPlace, Diagnostic> {
        self.memories.get(&handle).ok_or_else(|| error::internal(self.span, "a memory has no view"))
    }
}
