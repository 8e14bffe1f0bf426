//! The layouts of cells: one for each shape that the flow has found, and one for numbers of each kind.

use super::represent;
use super::{Lowering, Meaning, Unit, numbers};
use crate::flow::{Callee, Flow, ShapeId, What};
use girih_base::num::NumKind;
use girih_base::span::Span;
use girih_ir::Type;
use girih_ir::heap::LayoutId;

impl<'p> Lowering<'p> {
    /// The layout of cells that hold a number of 32 bits.
    pub(crate) fn boxed(&mut self, kind: NumKind) -> LayoutId {
        if let Some(id) = self.boxes.get(&kind) {
            return *id;
        }
        let fields = vec![Type::Scalar(numbers::scalar(kind))];
        let id = self.layout(format!("box.{}", kind.name()), fields, Meaning::Boxed(kind));
        self.boxes.insert(kind, id);
        id
    }

    /// The layout of cells of a shape.
    pub(crate) fn shape(&mut self, shape: ShapeId) -> LayoutId {
        if let Some(id) = self.shapes.get(&shape) {
            return *id;
        }
        let flow: &'p Flow = self.flow;
        let what = flow.shapes()[shape].what;
        let fields = represent::stored(&flow.shapes()[shape]);
        let types = fields.iter().map(|repr| repr.ty()).collect();
        let name = format!("{}.{}", self.shape_name(what), shape.index());
        let id = self.layout(name, types, Meaning::Shape { shape, what, fields });
        self.shapes.insert(shape, id);
        id
    }

    fn shape_name(&self, what: What) -> String {
        match what {
            What::Ctor(ctor) => self.program.ctors[ctor].name.to_string(),
            What::Pair => "pair".to_owned(),
            What::Closure(lambda) => self.name(Unit::Lambda(lambda)).0,
            What::Partial(Callee::Definition(instance), n) => {
                format!("{}.given{n}", self.name(Unit::Definition(instance)).0)
            }
            What::Partial(Callee::Lambda(lambda), n) => format!("{}.given{n}", self.name(Unit::Lambda(lambda)).0),
            What::Partial(Callee::Constructor(ctor), n) => format!("{}.given{n}", self.program.ctors[ctor].name),
        }
    }

    fn layout(&mut self, name: String, fields: Vec<Type>, meaning: Meaning) -> LayoutId {
        self.tables.layouts.push(meaning);
        self.module.layouts.push(girih_ir::heap::Layout { name: name.into(), span: Span::NONE, fields })
    }
}
