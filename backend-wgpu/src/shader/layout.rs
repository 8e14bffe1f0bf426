//! Where a kernel finds its parameters: the one place where code generator and device agree on it.
//!
//! Buffers are bindings 0, 1, .. of group 0, one for each view. Scalars stand in one uniform buffer, the binding after the last
//! buffer, in words of 32 bits: 64-bit numbers take two, low word first; all others one.

use super::error;
use super::views::{Access, View, Views, accesses};
use girih_base::diag::Diagnostic;
use girih_ir::{Caps, Function, Type, ValueId};

/// A binding of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Position of the buffer among the kernel's parameters.
    pub param: usize,
    /// How the buffer is seen.
    pub view: View,
    /// Whether the shader may only read it.
    pub readonly: bool,
    /// Whether nothing else reaches its bytes.
    pub noalias: bool,
}

/// Where a kernel's parameters are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The bindings of buffers, in order.
    pub bindings: Vec<Binding>,
    /// For each parameter: the first word, if it is a scalar.
    words: Vec<Option<u32>>,
    /// How many words of scalars there are.
    pub word_count: u32,
}

/// A kernel's layout, and the views of its buffers by parameter.
pub struct Planned {
    /// The layout.
    pub layout: Layout,
    /// Views by position of the parameter.
    pub views: Vec<Views>,
}

impl Layout {
    /// The layout of a legal kernel.
    pub fn plan(function: &Function, caps: &Caps) -> Result<Planned, Diagnostic> {
        let accesses = accesses(function);
        let of = |param: ValueId| accesses.iter().filter(|a| a.memory == param).copied().collect::<Vec<Access>>();
        let views = |several: bool| {
            function.params.iter().map(|p| Views::of_buffer(&of(*p), caps, several)).collect::<Result<Vec<_>, _>>()
        };
        let count = |views: &[Views]| views.iter().map(|v| v.all().len()).sum::<usize>();
        let mut chosen = views(caps.buffer_views)?;
        if caps.buffer_views && count(&chosen) > caps.buffers as usize {
            chosen = views(false)?;
        }
        if count(&chosen) > caps.buffers as usize {
            let message = format!(
                "the kernel `@{}` needs {} buffer bindings, and the device has {}",
                function.name,
                count(&chosen),
                caps.buffers
            );
            return Err(error::over_limit(function.span, message).hint("combine several arrays into one buffer"));
        }
        Ok(Planned { layout: Layout::from_views(function, &chosen), views: chosen })
    }

    fn from_views(function: &Function, views: &[Views]) -> Layout {
        let mut layout = Layout::default();
        for (param, value) in function.params.iter().enumerate() {
            let attrs = function.param_attrs(*value);
            let word = match function.ty(*value) {
                Type::Memory(_) => {
                    let binding =
                        |view: &View| Binding { param, view: *view, readonly: attrs.readonly, noalias: attrs.noalias };
                    layout.bindings.extend(views[param].all().iter().map(binding));
                    None
                }
                ty => {
                    let first = layout.word_count;
                    layout.word_count += Layout::words_of(ty);
                    Some(first)
                }
            };
            layout.words.push(word);
        }
        layout
    }

    /// How many words a scalar takes.
    pub fn words_of(ty: Type) -> u32 {
        ty.element().map_or(1, |s| s.bits().div_ceil(32))
    }
    /// The first word of a scalar parameter.
    pub fn word(&self, param: usize) -> Option<u32> {
        self.words.get(param).copied().flatten()
    }
    /// The binding of the scalars, if there are any.
    pub fn uniform(&self) -> Option<u32> {
        (self.word_count > 0).then_some(self.bindings.len() as u32)
    }
    /// Bytes of the uniform buffer: whole vectors of four words.
    pub fn uniform_bytes(&self) -> u32 {
        self.word_count.next_multiple_of(4) * 4
    }
    /// The first binding of a buffer parameter.
    pub fn first_binding(&self, param: usize) -> Option<usize> {
        self.bindings.iter().position(|b| b.param == param)
    }
}
