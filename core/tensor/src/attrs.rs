//! What a node says beside its operands: axes, lengths, numbers, types.
//!
//! Invariant: a node has exactly the attributes that its operation's row lists, in that order.

use girih_ir::Scalar;
use std::fmt;

/// A number that is part of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer; truth is 1.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Number {
    /// As a float.
    pub fn as_float(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }
    /// As an integer, towards zero.
    pub fn as_int(self) -> i128 {
        match self {
            Number::Int(n) => n,
            Number::Float(x) => x as i128,
        }
    }
    /// Whether it is finite and has no fraction.
    pub fn is_whole(self) -> bool {
        match self {
            Number::Int(_) => true,
            Number::Float(x) => x.is_finite() && x.fract() == 0.0,
        }
    }
    /// Whether it is a number of a type: integers are whole and in range, truth values are not NaN.
    pub fn is_of(self, element: Scalar) -> bool {
        if element == Scalar::Bool {
            return !self.as_float().is_nan();
        }
        element.is_float() || (self.is_whole() && self.within(element).as_int() == self.as_int())
    }
    /// The nearest number of an integer type; floats stay.
    pub fn within(self, element: Scalar) -> Number {
        if element.is_float() || element == Scalar::Bool {
            return self;
        }
        let (least, most) = if element.is_signed() {
            (-(1i128 << (element.bits() - 1)), (1i128 << (element.bits() - 1)) - 1)
        } else {
            (0, (1i128 << element.bits()) - 1)
        };
        Number::Int(self.as_int().clamp(least, most))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(n) => write!(f, "{n}"),
            Number::Float(x) => write!(f, "{x:?}"),
        }
    }
}

/// What kind of value an attribute has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Natural numbers.
    List,
    /// One number.
    Number,
    /// The type of an element.
    Element,
}

macro_rules! kinds {
    ($($variant:ident $name:literal $holds:ident $doc:literal;)*) => {
        /// The name of an attribute.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AttrKind { $(#[doc = $doc] $variant,)* }

        impl AttrKind {
            /// All kinds.
            pub const ALL: &[AttrKind] = &[$(AttrKind::$variant,)*];
            /// The printed name.
            pub const fn name(self) -> &'static str {
                match self { $(AttrKind::$variant => $name,)* }
            }
            /// What it means.
            pub const fn doc(self) -> &'static str {
                match self { $(AttrKind::$variant => $doc,)* }
            }
            /// What values it has.
            pub const fn holds(self) -> Holds {
                match self { $(AttrKind::$variant => Holds::$holds,)* }
            }
        }
    };
}

kinds! {
    Axes "axes" List "Dimensions, counted from 0, the slowest first.";
    Axis "axis" List "One dimension.";
    Sizes "sizes" List "The lengths of the result.";
    Start "start" List "The first position of each dimension.";
    End "end" List "The position after the last one of each dimension.";
    Step "step" List "How far positions are apart.";
    Low "low" List "How many elements are added before each dimension.";
    High "high" List "How many elements are added after each dimension.";
    Length "length" List "How long a dimension of the result is.";
    Window "window" List "Height and width of a window.";
    Stride "stride" List "How far neighbouring windows are apart.";
    Padding "padding" List "How many elements are added on both sides of a dimension.";
    Dilation "dilation" List "How far elements of one window are apart.";
    Groups "groups" List "Into how many independent groups channels are divided.";
    Value "value" Number "A number.";
    Above "above" Number "The largest number.";
    To "to" Element "The type of the result's elements.";
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// Natural numbers.
    List(AttrKind, Vec<u64>),
    /// One number.
    Number(AttrKind, Number),
    /// The type of an element.
    Element(AttrKind, Scalar),
}

impl Attr {
    /// Its name.
    pub const fn kind(&self) -> AttrKind {
        match self {
            Attr::List(kind, _) | Attr::Number(kind, _) | Attr::Element(kind, _) => *kind,
        }
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.kind().name())?;
        match self {
            Attr::List(_, list) => {
                write!(f, "{}", list.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))?;
            }
            Attr::Number(_, number) => write!(f, "{number}")?,
            Attr::Element(_, scalar) => write!(f, "{scalar}")?,
        }
        write!(f, ")")
    }
}
