//! The trait of Rust types that are Bend types, and the types of Rust's own that are: numbers, tuples, lists, text, `Option`, `Result`.

use super::from_bend::{Misfit, Read, Seen, Slot, Slots, Taker};
use super::plan::{FieldOf, Mismatch, Planner, Shape, VariantOf};
use super::to_bend::{Give, Giver};
use girih_base::num::{Num, NumKind};
use girih_term::ty::Type;

/// A Rust type whose values are values of a Bend type.
///
/// | Rust | Bend |
/// |---|---|
/// | `u32`, `u16`, `u8` | `u24`, `u32` |
/// | `i32`, `i16`, `i8` | `i24`, `i32` |
/// | `f32` | `f24` (the nearest one), `f32` |
/// | `bool` | `u24`, as comparisons give it: 0 or 1 |
/// | `char` | `u24`: the code point |
/// | `()` | `None`: `*` |
/// | `(A, B, ..)` | `(A, B, ..)` |
/// | `Vec<T>` | `List(T)` |
/// | `String` | `String` |
/// | `Option<T>` | `Maybe(T)` |
/// | `Result<T, E>` | `Result(T, E)` |
/// | [`Tree<T>`](crate::Tree) | `Tree(T)` |
/// | `Box<T>`, [`Deep<T>`](crate::Deep) | what `T` is |
/// | a struct with `#[derive(Bend)]` | a type with one constructor, as `object` makes it |
/// | an enum with `#[derive(Bend)]` | a type with constructors of the same names |
///
/// `#[derive(Bend)]` goes by names: of the type, of its variants and, where they have names, of their fields. `#[bend(name = "..")]` before any of them
/// says another one. What is `Any` in Bend is taken for what the Rust type says.
///
/// A type of one's own is best derived. The methods are how a value is described, given and taken without a recursion, so that neither deep
/// nor long data overflows the stack.
pub trait Bend: Sized + 'static {
    /// What the type is as this Bend type.
    ///
    /// # Errors
    /// If it does not stand for it.
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch>;

    /// Says what the value is made of.
    ///
    /// # Errors
    /// If it is out of the range of its Bend type.
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit>;

    /// Says what to make of what was seen.
    ///
    /// # Errors
    /// If no value of this type can be.
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit>;

    /// The value in a slot.
    #[doc(hidden)]
    fn unpack(slot: Slot) -> Option<Self> {
        Self::unpack_boxed(slot).map(|boxed| *boxed)
    }

    /// The same in a box, without a move where it is in one.
    #[doc(hidden)]
    fn unpack_boxed(slot: Slot) -> Option<Box<Self>> {
        slot.boxed()
    }
}

macro_rules! integers {
    ($($rust:ty: $small:ident $large:ident;)*) => {$(
        impl Bend for $rust {
            fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
                planner.number::<Self>(ty, &[NumKind::$small, NumKind::$large])
            }
            fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
                to.integer(i64::from(*self))
            }
            fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
                match seen {
                    Seen::Number(number) if Self::of(number).is_some() => from.number(number),
                    other => Err(from.misfit(other)),
                }
            }
            fn unpack(slot: Slot) -> Option<Self> {
                slot.number().and_then(Self::of)
            }
            fn unpack_boxed(slot: Slot) -> Option<Box<Self>> {
                Self::unpack(slot).map(Box::new)
            }
        }
        impl OfNumber for $rust {
            fn of(number: Num) -> Option<$rust> {
                match number {
                    Num::$small(value) | Num::$large(value) => value.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

/// What stands for some numbers.
trait OfNumber: Sized {
    fn of(number: Num) -> Option<Self>;
}

integers! {
    u8: U24 U32;
    u16: U24 U32;
    u32: U24 U32;
    i8: I24 I32;
    i16: I24 I32;
    i32: I24 I32;
}

macro_rules! numbers {
    ($($rust:ty: [$($kind:ident),*], |$value:ident, $to:ident| $give:expr, $number:pat => $of:expr;)*) => {$(
        impl Bend for $rust {
            fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
                planner.number::<Self>(ty, &[$(NumKind::$kind),*])
            }
            fn give<'a>(&'a self, $to: &mut Giver<'a>) -> Result<(), Misfit> {
                let $value = *self;
                $give
            }
            fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
                match seen {
                    Seen::Number(number) if Self::of(number).is_some() => from.number(number),
                    other => Err(from.misfit(other)),
                }
            }
            fn unpack(slot: Slot) -> Option<Self> {
                slot.number().and_then(Self::of)
            }
            fn unpack_boxed(slot: Slot) -> Option<Box<Self>> {
                Self::unpack(slot).map(Box::new)
            }
        }
        impl OfNumber for $rust {
            fn of(number: Num) -> Option<$rust> {
                match number {
                    $number => $of,
                    _ => None,
                }
            }
        }
    )*};
}

numbers! {
    f32: [F24, F32], |value, to| to.float(value), Num::F24(value) | Num::F32(value) => Some(value);
    bool: [U24, U32], |value, to| to.integer(i64::from(value)), Num::U24(bit @ 0..=1) | Num::U32(bit @ 0..=1) => Some(bit == 1);
    char: [U24, U32], |value, to| to.integer(i64::from(u32::from(value))), Num::U24(code) | Num::U32(code) => char::from_u32(code);
}

impl Bend for () {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        planner.era::<Self>(ty)
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        to.era()
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        match seen {
            Seen::Era => from.done(()),
            other => Err(from.misfit(other)),
        }
    }
}

impl Bend for String {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        planner.text::<Self>(ty)
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        to.text(self)
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        from.text(seen)
    }
}

impl<T: Bend> Bend for Vec<T> {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        planner.list::<Self, T>(ty)
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        to.list(self)
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        from.list::<T>(seen)
    }
}

impl<T: Bend> Bend for Box<T> {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        T::shape(ty, planner)
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        (**self).give(to)
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        T::take(seen, from)
    }
    fn unpack(slot: Slot) -> Option<Self> {
        T::unpack_boxed(slot)
    }
    fn unpack_boxed(slot: Slot) -> Option<Box<Self>> {
        Self::unpack(slot).map(Box::new)
    }
}

impl<T: Bend> Bend for Option<T> {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        let some = VariantOf { name: Some("Some"), fields: vec![FieldOf::unnamed::<T>()] };
        let none = VariantOf { name: Some("None"), fields: vec![] };
        planner.data::<Self>(ty, "Maybe", &[some, none])
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        match self {
            Some(value) => to.variant(0, &[value]),
            None => to.variant(1, &[]),
        }
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        match from.variant(seen)? {
            0 => from.fields(0, &[T::take], |slots| {
                let value = slots.pop()?;
                slots.push(Some::<T>(value))
            }),
            _ => from.done(None::<T>),
        }
    }
}

impl<T: Bend, E: Bend> Bend for Result<T, E> {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        let ok = VariantOf { name: Some("Ok"), fields: vec![FieldOf::unnamed::<T>()] };
        let err = VariantOf { name: Some("Err"), fields: vec![FieldOf::unnamed::<E>()] };
        planner.data::<Self>(ty, "Result", &[ok, err])
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        match self {
            Ok(value) => to.variant(0, &[value]),
            Err(error) => to.variant(1, &[error]),
        }
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        match from.variant(seen)? {
            0 => from.fields(0, &[T::take], |slots| {
                let value = slots.pop()?;
                slots.push(Ok::<T, E>(value))
            }),
            _ => from.fields(1, &[E::take], |slots| {
                let error = slots.pop()?;
                slots.push(Err::<T, E>(error))
            }),
        }
    }
}

/// The arguments of a function: a tuple of any number of them.
pub trait Arguments: 'static {
    /// What they are, and what each is called in Rust.
    #[doc(hidden)]
    fn parts() -> Vec<(FieldOf, String)>;
    /// Each of them.
    #[doc(hidden)]
    fn each(&self) -> Vec<&dyn Give>;
}

impl Arguments for () {
    fn parts() -> Vec<(FieldOf, String)> {
        vec![]
    }
    fn each(&self) -> Vec<&dyn Give> {
        vec![]
    }
}

macro_rules! arguments {
    ($($name:ident)*) => {
        impl<$($name: Bend),*> Arguments for ($($name,)*) {
            fn parts() -> Vec<(FieldOf, String)> {
                vec![$((FieldOf::unnamed::<$name>(), super::names::rust_name::<$name>())),*]
            }
            #[allow(non_snake_case)] // A value is named as its type.
            fn each(&self) -> Vec<&dyn Give> {
                let ($($name,)*) = self;
                vec![$($name),*]
            }
        }
    };
}

macro_rules! tuples {
    ($(($($name:ident)*) ($($reversed:ident)*);)*) => {$(
        impl<$($name: Bend),*> Bend for ($($name,)*) {
            fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
                planner.tuple::<Self>(ty, &[$(FieldOf::unnamed::<$name>()),*])
            }
            #[allow(non_snake_case)] // A value is named as its type.
            fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
                let ($($name,)*) = self;
                to.tuple(&[$($name),*])
            }
            #[allow(non_snake_case)] // A value is named as its type.
            fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
                fn build<$($name: Bend),*>(slots: &mut Slots) -> Option<()> {
                    $(let $reversed = slots.pop()?;)*
                    slots.push::<($($name,)*)>(($($name,)*))
                }
                from.tuple(seen, const { &[$($name::take as Read),*] }, build::<$($name),*>)
            }
        }
        arguments! { $($name)* }
    )*};
}

arguments! { A }

tuples! {
    (A B) (B A);
    (A B C) (C B A);
    (A B C D) (D C B A);
    (A B C D E) (E D C B A);
    (A B C D E F) (F E D C B A);
    (A B C D E F G) (G F E D C B A);
    (A B C D E F G H) (H G F E D C B A);
}
