//! Groups of terms as patterns, so that a match over terms stays exhaustive without naming all of them again: a new form compiles only once it
//! stands in one of the groups.
//!
//! A pattern names [`TermKind`](crate::TermKind) as the module that uses it does. No group has terms that bind variables, choose, or apply.

/// What has no parts and uses no variable of its own definition.
#[macro_export]
macro_rules! closed_leaves {
    () => {
        TermKind::Global(_)
            | TermKind::Num(_)
            | TermKind::Literal(_)
            | TermKind::Str(_)
            | TermKind::Era
            | TermKind::Link(_)
            | TermKind::Invalid
    };
}
/// What has no parts.
#[macro_export]
macro_rules! leaves {
    () => {
        TermKind::Local(_) | $crate::closed_leaves!()
    };
}
/// What is made of the values of all its parts, in order.
#[macro_export]
macro_rules! made_of_values {
    () => {
        TermKind::Ctor(..)
            | TermKind::Tuple(_)
            | TermKind::List(_)
            | TermKind::Sup(_)
            | TermKind::Op(..)
            | TermKind::Prim(..)
    };
}

pub use {closed_leaves, leaves, made_of_values};
