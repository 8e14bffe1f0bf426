//! What a launch has to know of a compiled kernel, without the kernel's code; and as bytes, so that it is known before the source is looked at.

use super::kernel::Constant;
use girih_base::pack::{Packer, Unpacker};
use girih_base::span::Span;
use girih_ir::Type;
use girih_lower::{named_type, read_span, span, type_name};

/// A kernel as its callers see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Which of the kernel's Python parameters are left, in order: those that are not constants.
    pub parameters: Vec<String>,
    /// Their types.
    pub types: Vec<Type>,
    /// The names of all of the kernel's parameters, in order.
    pub all: Vec<String>,
    /// Constants that decorators chose.
    pub chosen: Vec<(String, Constant)>,
    /// How many programs a launch starts, if decorators say so: an expression for each dimension, as in `cdiv(xnumel, XBLOCK)`.
    pub grid: Option<String>,
    /// How many configurations there were to choose from; 1 where there is no `@triton.autotune`.
    pub configurations: usize,
    /// What was said on the way: by `tl.static_print`, and about decorators that could not be read.
    pub notes: Vec<String>,
    /// The numbers among what it was given that were looked at: constants, and all of them if decorators choose by them. Of the others only what
    /// [`Argument::representative`](super::Argument::representative) keeps made a difference.
    pub exact: Vec<String>,
    /// The texts of the assertions in it, each once: the runtime is told them before the kernel runs.
    pub assertions: Vec<String>,
    /// Whether its programs print, which only the reference machine shows.
    pub prints: bool,
}

impl Head {
    /// Writes it.
    pub fn pack(&self, to: &mut Packer) {
        to.piece(&self.name);
        span(to, self.span);
        let text = |to: &mut Packer, text: &String| {
            to.piece(text);
        };
        to.list(&self.parameters, text);
        to.list(&self.types, |to, ty| {
            to.piece(type_name(*ty).unwrap_or_default());
        });
        to.list(&self.all, text);
        to.list(&self.chosen, |to, (name, value)| constant(to.piece(name), value));
        to.list(self.grid.as_slice(), text);
        to.number(self.configurations as u64);
        to.list(&self.notes, text);
        to.list(&self.exact, text);
        to.list(&self.assertions, text);
        to.number(self.prints);
    }

    /// Reads it.
    pub fn unpack(from: &mut Unpacker<'_>) -> Option<Head> {
        let text = |from: &mut Unpacker<'_>| from.text().map(str::to_owned);
        let head = Head {
            name: text(from)?,
            span: read_span(from)?,
            parameters: from.list(text)?,
            types: from.list(|from| named_type(from.text()?))?,
            all: from.list(text)?,
            chosen: from.list(|from| Some((text(from)?, read_constant(from)?)))?,
            grid: from.list(text)?.pop(),
            configurations: from.small()?,
            notes: from.list(text)?,
            exact: from.list(text)?,
            assertions: from.list(text)?,
            prints: from.truth()?,
        };
        (head.parameters.len() == head.types.len()).then_some(head)
    }
}

fn constant(to: &mut Packer, value: &Constant) {
    match value {
        Constant::None => to.number(0u8),
        Constant::Bool(b) => to.number(1u8).number(*b),
        Constant::Int(n) => to.number(2u8).piece(n.to_le_bytes()),
        Constant::Float(x) => to.number(3u8).number(x.to_bits()),
        Constant::Text(text) => to.number(4u8).piece(text),
    };
}

fn read_constant(from: &mut Unpacker<'_>) -> Option<Constant> {
    match from.number()? {
        0 => Some(Constant::None),
        1 => from.truth().map(Constant::Bool),
        2 => Some(Constant::Int(i128::from_le_bytes(from.piece()?.try_into().ok()?))),
        3 => from.number().map(|bits| Constant::Float(f64::from_bits(bits))),
        4 => from.text().map(|text| Constant::Text(text.to_owned())),
        _other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_ir::{Scalar, Space};

    #[test]
    fn a_head_is_read_as_it_was() {
        let head = Head {
            name: "matmul".into(),
            span: Span::NONE,
            parameters: vec!["a_ptr".into(), "m".into()],
            types: vec![Type::Memory(Space::Global), Type::Scalar(Scalar::I32)],
            all: vec!["a_ptr".into(), "m".into(), "BLOCK".into()],
            chosen: vec![
                ("NONE".into(), Constant::None),
                ("YES".into(), Constant::Bool(true)),
                ("BLOCK".into(), Constant::Int(-64)),
                ("EPS".into(), Constant::Float(1e-5)),
                ("TYPE".into(), Constant::Text("tl.float16".into())),
            ],
            grid: Some("cdiv(m, BLOCK)".into()),
            configurations: 3,
            notes: vec!["said".into()],
            exact: vec!["m".into()],
            assertions: vec!["index out of bounds".into()],
            prints: true,
        };
        let mut packer = Packer::default();
        head.pack(&mut packer);
        let bytes = packer.finish();
        assert_eq!(Head::unpack(&mut Unpacker::new(&bytes)), Some(head));
        for end in 0..bytes.len() {
            assert_eq!(Head::unpack(&mut Unpacker::new(&bytes[..end])), None, "{end} bytes of it");
        }
    }
}
