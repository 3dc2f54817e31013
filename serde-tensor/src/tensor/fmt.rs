//! The short `Debug` form: dtype, shape and the first values, however large the tensor is.

use std::fmt;

use half::{bf16, f16};

use super::dtype::DType;
use super::element::{Element, elements};
use super::host::Tensor;
use super::view::TensorView;

/// How many values are shown.
const SHOWN: usize = 6;

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        summary(f, "Tensor", &self.view())
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        summary(f, "TensorView", self)
    }
}

/// `Tensor(f32 [2, 3], 1.0 2.0 3.0 4.0 5.0 6.0)`.
fn summary(f: &mut fmt::Formatter<'_>, name: &str, view: &TensorView<'_>) -> fmt::Result {
    write!(f, "{name}({} {:?}", view.dtype(), view.shape())?;
    if !view.is_empty() {
        f.write_str(",")?;
        match view.dtype() {
            DType::Bool => values::<bool>(f, view)?,
            DType::U8 => values::<u8>(f, view)?,
            DType::I8 => values::<i8>(f, view)?,
            DType::U16 => values::<u16>(f, view)?,
            DType::I16 => values::<i16>(f, view)?,
            DType::U32 => values::<u32>(f, view)?,
            DType::I32 => values::<i32>(f, view)?,
            DType::U64 => values::<u64>(f, view)?,
            DType::I64 => values::<i64>(f, view)?,
            DType::F16 => values::<f16>(f, view)?,
            DType::BF16 => values::<bf16>(f, view)?,
            DType::F32 | DType::C64 => values::<f32>(f, view)?,
            DType::F64 | DType::C128 => values::<f64>(f, view)?,
            _ => raw(f, view.bytes())?,
        }
    }
    f.write_str(")")
}

fn values<E: Element>(f: &mut fmt::Formatter<'_>, view: &TensorView<'_>) -> fmt::Result {
    let bytes = view.bytes();
    let shown = bytes.len().min(SHOWN * size_of::<E>());
    if let Ok(values) = elements::<E>(bytes.get(..shown).unwrap_or_default()) {
        for value in values.iter() {
            write!(f, " {value:?}")?;
        }
    }
    rest(f, shown < bytes.len())
}

/// Elements that Rust has no type for, as bytes.
fn raw(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str(" 0x")?;
    for byte in bytes.iter().take(SHOWN) {
        write!(f, "{byte:02x}")?;
    }
    rest(f, SHOWN < bytes.len())
}

fn rest(f: &mut fmt::Formatter<'_>, more: bool) -> fmt::Result {
    f.write_str(if more { " …" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_tensor_prints_shortly() {
        let tensor = Tensor::zeros(DType::F32, &[1000, 1000]).unwrap();
        let shown = format!("{tensor:?}");
        assert_eq!(shown, "Tensor(f32 [1000, 1000], 0.0 0.0 0.0 0.0 0.0 0.0 …)");
    }

    #[test]
    fn every_kind_prints() {
        assert_eq!(format!("{:?}", Tensor::scalar(true)), "Tensor(bool [], true)");
        assert_eq!(format!("{:?}", Tensor::from(vec![-1i8, 2])), "Tensor(i8 [2], -1 2)");
        assert_eq!(
            format!("{:?}", Tensor::from(Vec::<f64>::new()).view()),
            "TensorView(f64 [0])"
        );
        let complex = Tensor::from_bytes(DType::C64, &[1], vec![0, 0, 128, 63, 0, 0, 128, 191]);
        assert_eq!(format!("{:?}", complex.unwrap()), "Tensor(c64 [1], 1.0 -1.0)");
        let packed = Tensor::from_bytes(DType::F4E2M1Fn, &[3], vec![0x21, 0x03]);
        assert_eq!(format!("{:?}", packed.unwrap()), "Tensor(f4_e2m1fn [3], 0x2103)");
    }
}
