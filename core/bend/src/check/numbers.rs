//! Types of operators and primitives.

use super::infer::{Checked, Infer};
use super::type_errors::Why;
use super::types::{KindSet, Node, Ty, Types};
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;
use girih_term::Term;

impl<'p> Infer<'p> {
    pub fn operator(&mut self, term: &'p Term, op: BinOp, left: &'p Term, right: &'p Term) -> Checked<Ty> {
        let left_ty = self.infer(left)?;
        let right_ty = self.infer(right)?;
        if !self.is_any(left_ty) && !self.is_any(right_ty) {
            self.number(op, left, left_ty)?;
            self.number(op, right, right_ty)?;
        }
        let wide = self.wide_sibling(left_ty, &[(right, right_ty)]);
        let joined = match wide {
            Some(wide) => self.coerce(left, left_ty, wide, Why::Operand { op, other: right })?,
            None => self.coerce(right, right_ty, left_ty, Why::Operand { op, other: left })?,
        };
        if !self.types.constrain(joined, KindSet::of_operands(op)) {
            return Err(self.unsupported(term, op, joined));
        }
        Ok(if op.is_comparison() { Types::number(NumKind::U24) } else { joined })
    }

    fn is_any(&mut self, ty: Ty) -> bool {
        matches!(self.types.node(ty), Node::Any)
    }

    /// Refuses an operand that cannot be a number at all.
    fn number(&mut self, op: BinOp, operand: &'p Term, ty: Ty) -> Checked<()> {
        match self.types.node(ty) {
            Node::Any | Node::Number(_) | Node::Variable(_) => Ok(()),
            Node::None | Node::Rigid(_) | Node::Data(..) | Node::Tuple(_) | Node::Arrow(..) => {
                Err(self.not_numeric(op, operand, ty))
            }
            Node::Link(_) => unreachable!("a resolved type is not a link"),
        }
    }

    pub fn primitive(&mut self, prim: Prim, arguments: &'p [Term]) -> Checked<Ty> {
        let (kinds, result) = match prim {
            Prim::To(kind) => (KindSet::NUMBER, Some(Types::number(kind))),
            Prim::Log | Prim::Atan2 | Prim::Sin | Prim::Cos | Prim::Tan => (KindSet::FLOAT, None),
        };
        let number = self.types.fresh_number(kinds, false);
        for argument in arguments {
            self.check(argument, number, Why::Primitive(prim))?;
        }
        Ok(result.unwrap_or(number))
    }
}
