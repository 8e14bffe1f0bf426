//! Top-level items and nets.

use super::tape::Maker;
use girih_base::name::Name;
use girih_base::num::{BinOp, Num, NumKind};
use girih_base::prim::Prim;
use girih_base::span::Span;
use girih_bend::ast::*;
use girih_term::hvm::ast::{Net, Operator, Redex, Tree};
use girih_term::hvm::function::Function;

/// The operators that nets have.
const NET_OPERATORS: &[BinOp] = &[
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Rem,
    BinOp::Eq,
    BinOp::Ne,
    BinOp::Lt,
    BinOp::Gt,
    BinOp::And,
    BinOp::Or,
    BinOp::Xor,
    BinOp::Shl,
    BinOp::Shr,
];

/// Those of them that can be flipped.
const FLIPPABLE: &[BinOp] = &[BinOp::Sub, BinOp::Div, BinOp::Rem, BinOp::Shl, BinOp::Shr];

const NET_NUMBERS: &[Num] = &[
    Num::U24(0),
    Num::U24(0xff_ffff),
    Num::I24(-0x80_0000),
    Num::I24(7),
    Num::F24(1.5),
    Num::F24(-0.0),
    Num::F24(f32::from_bits(0x7180_0000)),
    Num::F24(f32::from_bits(0x0d80_0100)),
    Num::F24(f32::INFINITY),
    Num::F24(f32::NEG_INFINITY),
];

/// Functions of Bend in nets: symbols of which one starts another, and names.
const CHECKED: [Function; 5] = [
    Function::Op(BinOp::Lt),
    Function::Op(BinOp::Le),
    Function::Op(BinOp::Shl),
    Function::Prim(Prim::Sin),
    Function::Prim(Prim::To(NumKind::I32)),
];

impl Maker<'_> {
    /// A file.
    pub fn module(&mut self) -> Module {
        Module { items: self.several(0, 4, Maker::item), broken: vec![] }
    }

    fn item(&mut self) -> Item {
        let item = match self.choose(10) {
            0 => Item::Import(self.import()),
            1 => Item::Type(self.type_def()),
            2..=4 => Item::Def(self.imp_def(3)),
            5..=8 => {
                let name = self.fresh("fun.");
                Item::Equations(self.equations(name, 4))
            }
            _ => {
                let (name, ty) = (self.fresh("net-"), self.maybe(|m| m.ty(false, 2)));
                Item::Hvm(HvmDef { span: Span::NONE, name, ty, net: self.net() })
            }
        };
        self.counted(item)
    }

    fn import(&mut self) -> Import {
        let path = |m: &mut Self| m.ident(&["lib/a", "./b", "../c/d.e", "f"]);
        let from = self.maybe(path);
        let name = |m: &mut Self| ImportName { name: path(m), alias: m.maybe(Maker::variable) };
        let names = match self.choose(if from.is_some() { 3 } else { 2 }) {
            0 => ImportNames::One(name(self)),
            1 => ImportNames::Many(self.several(1, 3, name)),
            _ => ImportNames::All,
        };
        Import { span: Span::NONE, from, names: self.counted(names) }
    }

    fn type_def(&mut self) -> TypeDef {
        let syntax = self.pick(&[TypeSyntax::Imp, TypeSyntax::Fun, TypeSyntax::Object]);
        let syntax = self.counted(syntax);
        let (name, vars) = (self.fresh("Type"), self.several(0, 2, Maker::variable));
        let fields = |m: &mut Self| {
            let mut fields: Vec<Field> = vec![];
            for field in m.several(0, 3, |m| m.field(syntax == TypeSyntax::Fun)) {
                if fields.iter().all(|other| other.name != field.name) {
                    fields.push(field);
                }
            }
            fields
        };
        let ctors = match syntax {
            TypeSyntax::Object => vec![CtorDef { name: name.clone(), fields: fields(self) }],
            TypeSyntax::Imp | TypeSyntax::Fun => {
                self.several(1, 3, |m| CtorDef { name: m.type_ident(), fields: fields(m) })
            }
        };
        TypeDef { span: Span::NONE, syntax, name, vars, ctors }
    }

    fn field(&mut self, functional: bool) -> Field {
        Field { name: self.field_ident(), ty: self.maybe(|m| m.ty(functional, 2)), recursive: self.flip() }
    }

    fn net(&mut self) -> Net {
        let redex = |m: &mut Self| Redex { parallel: m.flip(), left: m.tree(2), right: m.tree(2) };
        Net { root: self.tree(4), redexes: self.several(0, 3, redex) }
    }

    fn tree(&mut self, depth: u32) -> Tree {
        let inner = depth.saturating_sub(1);
        let name = |m: &mut Self| Name::new(m.pick(&["a", "b_1", "List/map__C0", "x$y", "f.g-h"]));
        let tree = match self.choose(if depth == 0 { 5 } else { 11 }) {
            0 => Tree::Var(name(self)),
            1 => Tree::Era,
            2 => Tree::Ref(name(self)),
            3 => Tree::Num(self.pick(NET_NUMBERS)),
            4 => Tree::Operator(self.operator()),
            5 => Tree::Con(Box::new(self.tree(inner)), Box::new(self.tree(inner))),
            6 => Tree::Dup(Box::new(self.tree(inner)), Box::new(self.tree(inner))),
            7 => Tree::Opr(Box::new(self.tree(inner)), Box::new(self.tree(inner))),
            8 => Tree::Swi(Box::new(self.tree(inner)), Box::new(self.tree(inner))),
            9 => Tree::Copy(Box::new(self.tree(inner)), Box::new(self.tree(inner))),
            _ => Tree::Closure(Box::new(Tree::Ref(name(self))), Box::new(self.tree(inner))),
        };
        self.counted(tree)
    }

    fn operator(&mut self) -> Operator {
        let operator = match self.choose(6) {
            0 => Operator::Symbol(self.pick(NET_OPERATORS)),
            1 => Operator::FlippedSymbol(self.pick(FLIPPABLE)),
            2 => Operator::Partial(self.pick(NET_OPERATORS), self.pick(NET_NUMBERS)),
            3 => Operator::Flipped(self.pick(FLIPPABLE), self.pick(NET_NUMBERS)),
            4 => Operator::Checked(self.pick(&CHECKED)),
            _ => Operator::Cast(self.pick(&[NumKind::U24, NumKind::I24, NumKind::F24])),
        };
        self.counted(operator)
    }
}
