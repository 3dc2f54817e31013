//! A plain number as an element, by the rules of serde's own implementations.

/// A number as a format gives it.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// `true` or `false`.
    Bool(bool),
    /// An integer that is not negative.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// A float of 32 bits.
    F32(f32),
    /// A float of 64 bits.
    F64(f64),
}

/// An element that a plain number can stand for.
pub trait FromNumber: Sized {
    /// The element, if the number is of its kind and in its range.
    fn from_number(number: Number) -> Option<Self>;
}

impl FromNumber for bool {
    fn from_number(number: Number) -> Option<Self> {
        match number {
            Number::Bool(value) => Some(value),
            _ => None,
        }
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl FromNumber for $integer {
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Unsigned(n) => n.try_into().ok(),
                    Number::Signed(n) => n.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

integers! { u8 i8 u16 i16 u32 i32 u64 i64 }

macro_rules! floats {
    ($($float:ty)*) => {$(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_lossless,
            reason = "serde's own floats round to nearest too"
        )]
        impl FromNumber for $float {
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Bool(_) => None,
                    Number::Unsigned(n) => Some(n as $float),
                    Number::Signed(n) => Some(n as $float),
                    Number::F32(value) => Some(value as $float),
                    Number::F64(value) => Some(value as $float),
                }
            }
        }
    )*};
}

floats! { f32 f64 }

/// `half` itself serializes its types as the integer of their bits, so an integer means bits and a float a value.
macro_rules! halves {
    ($($half:ty)*) => {$(
        impl FromNumber for $half {
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Bool(_) | Number::Signed(_) => None,
                    Number::Unsigned(bits) => bits.try_into().ok().map(Self::from_bits),
                    Number::F32(value) => Some(Self::from_f32(value)),
                    Number::F64(value) => Some(Self::from_f64(value)),
                }
            }
        }
    )*};
}

halves! { half::f16 half::bf16 }

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "`{value}`"),
            Self::Unsigned(n) => write!(f, "integer `{n}`"),
            Self::Signed(n) => write!(f, "integer `{n}`"),
            Self::F32(value) => write!(f, "float `{value}`"),
            Self::F64(value) => write!(f, "float `{value}`"),
        }
    }
}
