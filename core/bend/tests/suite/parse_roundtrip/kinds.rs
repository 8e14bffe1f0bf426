//! Which kinds of nodes there are, so that the test can say which of them it has never made.

use girih_base::num::BinOp;
use girih_bend::ast::*;
use girih_term::hvm::ast::{Operator, Tree};
use std::collections::BTreeMap;

/// A kind of node with a fixed set of forms.
pub trait Kind {
    /// The name of the form.
    fn form(&self) -> &'static str;
}

/// How often each form was made.
pub type Counts = BTreeMap<&'static str, u64>;

/// Declares the forms of enums. A form that is missing here does not compile.
macro_rules! kinds {
    ($($kind:ident { $($form:ident)* })*) => {
        $(impl Kind for $kind {
            fn form(&self) -> &'static str {
                match self {
                    $($kind::$form { .. } => concat!(stringify!($kind), "::", stringify!($form)),)*
                }
            }
        })*

        /// All forms, each counted zero times.
        pub fn no_counts() -> Counts {
            [$($(concat!(stringify!($kind), "::", stringify!($form)),)*)*].into_iter().map(|form| (form, 0)).collect()
        }
    };
}

kinds! {
    Item { Import Type Def Equations Hvm }
    ImportNames { All One Many }
    TypeSyntax { Imp Fun Object }
    Check { Default Checked Unchecked }
    FunBody { Equation Rules }
    TypeKind { Any Hole None Number Name Apply Tuple Arrow }
    PatternKind { Wild Var Link Tuple Sup Ctor List Str Num Char }
    ExprKind {
        Era Var Link Num Char Symbol Str List Tuple Sup TreeNode TreeLeaf Lambda Call Op
        CallNamed Record Comprehension Map MapGet
        Nat Let If Match Switch Fold Bend With
    }
    FunBind { Let Use Ask Open Def }
    StmtKind { Assign Ask InPlace Use Open Def Return If Match Switch Fold Bend With }
    Target { Pattern MapSlot }
    InPlaceTarget { Var MapSlot }
    InPlaceOp { Op Map }
    BinOp { Add Sub Mul Div Rem Pow Eq Ne Lt Le Gt Ge And Or Xor Shl Shr }
    Tree { Var Ref Era Num Operator Con Dup Opr Swi Copy Closure }
    Operator { Symbol FlippedSymbol Partial Flipped Cast Checked }
}
