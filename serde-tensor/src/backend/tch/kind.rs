//! libtorch's kinds and the dtypes they are.

use ::tch::Kind;

use crate::{DType, Error, Result};

/// Two binary16, real part first: a dtype without a name of its own.
const COMPLEX_HALF: (u8, u8) = (DType::C64.code(), 32);

/// The dtype of a kind; `None` for the quantised ones, whose bytes mean nothing without their scales.
pub(super) fn dtype(kind: Kind) -> Option<DType> {
    Some(match kind {
        Kind::Bool => DType::Bool,
        Kind::Uint8 => DType::U8,
        Kind::Int8 => DType::I8,
        Kind::Int16 => DType::I16,
        Kind::Int => DType::I32,
        Kind::Int64 => DType::I64,
        Kind::Half => DType::F16,
        Kind::BFloat16 => DType::BF16,
        Kind::Float => DType::F32,
        Kind::Double => DType::F64,
        Kind::ComplexHalf => return DType::from_dlpack(COMPLEX_HALF.0, COMPLEX_HALF.1),
        Kind::ComplexFloat => DType::C64,
        Kind::ComplexDouble => DType::C128,
        Kind::Float8e4m3fn => DType::F8E4M3Fn,
        Kind::Float8e5m2 => DType::F8E5M2,
        Kind::Float8e4m3fnuz => DType::F8E4M3FnUz,
        Kind::Float8e5m2fnuz => DType::F8E5M2FnUz,
        Kind::QInt8 | Kind::QUInt8 | Kind::QInt32 => return None,
    })
}

/// The kind of a dtype, or an error where tch has no name for one.
pub(super) fn kind(dtype: DType) -> Result<Kind> {
    Ok(match dtype {
        DType::Bool => Kind::Bool,
        DType::U8 => Kind::Uint8,
        DType::I8 => Kind::Int8,
        DType::I16 => Kind::Int16,
        DType::I32 => Kind::Int,
        DType::I64 => Kind::Int64,
        DType::F16 => Kind::Half,
        DType::BF16 => Kind::BFloat16,
        DType::F32 => Kind::Float,
        DType::F64 => Kind::Double,
        DType::C64 => Kind::ComplexFloat,
        DType::C128 => Kind::ComplexDouble,
        DType::F8E4M3Fn => Kind::Float8e4m3fn,
        DType::F8E5M2 => Kind::Float8e5m2,
        DType::F8E4M3FnUz => Kind::Float8e4m3fnuz,
        DType::F8E5M2FnUz => Kind::Float8e5m2fnuz,
        other if (other.code(), other.bits()) == COMPLEX_HALF => Kind::ComplexHalf,
        other => return Err(Error::backend(format!("tch has no name for tensors of {other}"))),
    })
}

/// The size in bytes of an element of a dtype that has a kind.
pub(super) fn size(dtype: DType) -> usize {
    usize::from(dtype.bits() / 8)
}

/// Whether tensors of the kind can require a gradient; libtorch refuses it for the others.
pub(super) fn is_differentiable(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Bool
            | Kind::Uint8
            | Kind::Int8
            | Kind::Int16
            | Kind::Int
            | Kind::Int64
            | Kind::QInt8
            | Kind::QUInt8
            | Kind::QInt32
    )
}
