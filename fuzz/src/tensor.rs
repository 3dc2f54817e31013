//! Tensors made of the fuzzer's bytes.

use arbitrary::{Result, Unstructured};
use serde_tensor::{DType, Tensor};

/// Of each size of element one, a checked one, one narrower than a byte and one that no one can name.
const DTYPES: [(u8, u8); 10] = [
    (6, 8),
    (1, 8),
    (4, 16),
    (2, 32),
    (0, 64),
    (5, 128),
    (10, 8),
    (15, 6),
    (17, 4),
    (99, 24),
];

/// A tensor of up to four dims, small or above the limit of what travels inline.
pub(crate) fn tensor(u: &mut Unstructured<'_>) -> Result<Tensor> {
    let (code, bits) = *u.choose(&DTYPES)?;
    let dtype = DType::from_dlpack(code, bits).expect("bits above zero");
    let rank = u.int_in_range(0..=4)?;
    let shape = (0..rank)
        .map(|_| u.int_in_range(0..=9))
        .collect::<Result<Vec<usize>>>()?;
    let bits: usize = shape.iter().product::<usize>() * usize::from(dtype.bits());
    let fill: u8 = u.arbitrary()?;
    let highest = if dtype == DType::Bool { 2 } else { 251 };
    let bytes: Vec<u8> = (0..bits.div_ceil(8))
        .map(|i| ((i + usize::from(fill)) % highest) as u8)
        .collect();
    Ok(Tensor::from_bytes(dtype, &shape, bytes).expect("as many bytes as the shape says"))
}
