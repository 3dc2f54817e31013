//! The type of a tensor's elements.

use std::fmt;
use std::mem::align_of;

/// A row a dtype: documentation, variant, name, `DLPack` code, bits, alignment of the Rust type.
macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $code:literal, $bits:literal, $align:expr;)*) => {
        /// The type of a tensor's elements, named as on the wire.
        ///
        /// A dtype is a pair of a code and a number of bits, both taken from `DLPack`'s `DLDataType` (with one lane):
        /// [`dlpack.h`](https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h), `DLDataTypeCode`. A pair
        /// this version has no name for is kept as [`DType::Other`], and its bytes are kept with it.
        ///
        /// # Examples
        ///
        /// ```
        /// use serde_tensor::DType;
        ///
        /// assert_eq!(DType::BF16.to_string(), "bf16");
        /// assert_eq!("f8_e4m3fn".parse::<DType>()?, DType::F8E4M3Fn);
        /// assert_eq!((DType::BF16.code(), DType::BF16.bits()), (4, 16));
        ///
        /// let unnamed = DType::from_dlpack(9, 8).unwrap();
        /// assert_eq!(unnamed.to_string(), "dl:9/8");
        /// assert_eq!("dl:9/8".parse::<DType>()?, unnamed);
        /// # Ok::<(), serde_tensor::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DType {
            $($(#[$doc])* $variant,)*
            /// A pair of code and bits without a name here; made by [`DType::from_dlpack`] only.
            Other(OtherDType),
        }

        impl DType {
            /// Every named dtype, in the order of the specification's table.
            #[cfg(test)]
            pub(super) const NAMED: &'static [DType] = &[$(DType::$variant),*];

            /// `DLPack`'s `DLDataTypeCode`.
            #[inline]
            pub const fn code(self) -> u8 {
                match self {
                    $(DType::$variant => $code,)*
                    DType::Other(other) => other.code,
                }
            }

            /// The number of bits of one element; never 0.
            #[inline]
            pub const fn bits(self) -> u8 {
                match self {
                    $(DType::$variant => $bits,)*
                    DType::Other(other) => other.bits,
                }
            }

            /// The dtype of a `DLPack` code and number of bits; `None` for 0 bits.
            #[inline]
            pub const fn from_dlpack(code: u8, bits: u8) -> Option<Self> {
                match bits {
                    0 => None,
                    _ => Some(Self::of_pair(code, bits)),
                }
            }

            /// The same, of bits that are not 0.
            #[inline]
            const fn of_pair(code: u8, bits: u8) -> Self {
                match (code, bits) {
                    $(($code, $bits) => DType::$variant,)*
                    _ => DType::Other(OtherDType { code, bits }),
                }
            }

            /// The alignment, in bytes, that a Rust slice of this dtype's elements needs.
            ///
            /// Complex numbers count as pairs of floats. 1 where Rust has no type of that layout.
            #[inline]
            pub const fn align(self) -> usize {
                match self {
                    $(DType::$variant => $align,)*
                    DType::Other(_) => 1,
                }
            }

            pub(super) const fn name(self) -> Option<&'static str> {
                match self {
                    $(DType::$variant => Some($name),)*
                    DType::Other(_) => None,
                }
            }

            pub(super) fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(DType::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

// Codes: DLPack 1.1, `dlpack.h`: kDLInt 0, kDLUInt 1, kDLFloat 2, kDLOpaqueHandle 3, kDLBfloat 4, kDLComplex 5,
// kDLBool 6, kDLFloat8_e3m4 7, kDLFloat8_e4m3 8, kDLFloat8_e4m3b11fnuz 9, then as below up to kDLFloat4_e2m1fn 17.
dtypes! {
    /// One byte, 0 or 1.
    Bool, "bool", 6, 8, 1;
    /// Unsigned, 8 bits.
    U8, "u8", 1, 8, 1;
    /// Signed, 8 bits.
    I8, "i8", 0, 8, 1;
    /// Unsigned, 16 bits.
    U16, "u16", 1, 16, align_of::<u16>();
    /// Signed, 16 bits.
    I16, "i16", 0, 16, align_of::<i16>();
    /// Unsigned, 32 bits.
    U32, "u32", 1, 32, align_of::<u32>();
    /// Signed, 32 bits.
    I32, "i32", 0, 32, align_of::<i32>();
    /// Unsigned, 64 bits.
    U64, "u64", 1, 64, align_of::<u64>();
    /// Signed, 64 bits.
    I64, "i64", 0, 64, align_of::<i64>();
    /// IEEE 754 binary16; [`half::f16`] in Rust.
    F16, "f16", 2, 16, align_of::<half::f16>();
    /// The upper half of a binary32; [`half::bf16`] in Rust.
    BF16, "bf16", 4, 16, align_of::<half::bf16>();
    /// IEEE 754 binary32.
    F32, "f32", 2, 32, align_of::<f32>();
    /// IEEE 754 binary64.
    F64, "f64", 2, 64, align_of::<f64>();
    /// Two binary32, real part first.
    C64, "c64", 5, 64, align_of::<f32>();
    /// Two binary64, real part first.
    C128, "c128", 5, 128, align_of::<f64>();
    /// 8 bits: 4 of exponent, 3 of mantissa, no infinities.
    F8E4M3Fn, "f8_e4m3fn", 10, 8, 1;
    /// 8 bits: 5 of exponent, 2 of mantissa, with infinities.
    F8E5M2, "f8_e5m2", 12, 8, 1;
    /// 8 bits: 4 of exponent, 3 of mantissa, no infinities, no negative zero.
    F8E4M3FnUz, "f8_e4m3fnuz", 11, 8, 1;
    /// 8 bits: 5 of exponent, 2 of mantissa, no infinities, no negative zero.
    F8E5M2FnUz, "f8_e5m2fnuz", 13, 8, 1;
    /// 8 bits of exponent only: the scale of a block.
    F8E8M0Fnu, "f8_e8m0fnu", 14, 8, 1;
    /// 6 bits: 2 of exponent, 3 of mantissa; packed, least significant bits first.
    F6E2M3Fn, "f6_e2m3fn", 15, 6, 1;
    /// 6 bits: 3 of exponent, 2 of mantissa; packed, least significant bits first.
    F6E3M2Fn, "f6_e3m2fn", 16, 6, 1;
    /// 4 bits: 2 of exponent, 1 of mantissa; packed, least significant bits first.
    F4E2M1Fn, "f4_e2m1fn", 17, 4, 1;
}

/// A `DLPack` pair of code and bits that [`DType`] has no name for.
///
/// Its fields are private so that a pair with a name is never spelled in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OtherDType {
    code: u8,
    bits: u8,
}

/// A dtype in one number, as tensors hold it. The enum has three bytes, which are moved one after another: in a tensor that was just made
/// they would have to arrive in memory before it could be moved on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed(u16);

impl Packed {
    #[inline]
    pub(crate) const fn of(dtype: DType) -> Self {
        Self(u16::from_le_bytes([dtype.code(), dtype.bits()]))
    }

    /// The dtype of a `DLPack` code and number of bits; `None` for 0 bits.
    #[inline]
    pub(crate) const fn of_pair(code: u8, bits: u8) -> Option<Self> {
        match bits {
            0 => None,
            _ => Some(Self(u16::from_le_bytes([code, bits]))),
        }
    }

    #[inline]
    pub(crate) const fn dtype(self) -> DType {
        let [code, bits] = self.pair();
        DType::of_pair(code, bits)
    }

    /// `DLPack`'s code and number of bits.
    #[inline]
    pub(crate) const fn pair(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dtype().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_survives_and_a_named_one_is_never_other() {
        for &dtype in DType::NAMED {
            let pair = DType::from_dlpack(dtype.code(), dtype.bits());
            assert_eq!(pair, Some(dtype));
            assert_eq!(Packed::of(dtype).dtype(), dtype);
            assert!(dtype.align().is_power_of_two());
        }
        for code in 0..=u8::MAX {
            assert_eq!(DType::from_dlpack(code, 0), None);
            for bits in 1..=u8::MAX {
                let dtype = DType::from_dlpack(code, bits).unwrap();
                assert_eq!((dtype.code(), dtype.bits()), (code, bits));
            }
        }
    }
}
