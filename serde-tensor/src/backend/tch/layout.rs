//! How a tensor's elements lie in memory.

use smallvec::SmallVec;

/// What shape and strides say of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The elements fill one piece, in row-major order.
    RowMajor,
    /// They fill one piece, each place once, in row-major order of the dims in another order. Such strides are what the wire accepts,
    /// with a length that is that of the elements.
    Permuted,
    /// There are gaps, or two elements in one place.
    Other,
}

pub(super) fn of(shape: &[usize], strides: &[usize]) -> Layout {
    // No element, no order.
    if shape.contains(&0) {
        return Layout::RowMajor;
    }
    // The stride of a dim of 1 is never used.
    let dims = strides
        .iter()
        .copied()
        .zip(shape.iter().copied())
        .filter(|&(_, dim)| dim > 1);
    if is_packed(dims.clone().rev()) {
        return Layout::RowMajor;
    }
    let mut by_stride: SmallVec<[(usize, usize); 4]> = dims.collect();
    by_stride.sort_unstable();
    if is_packed(by_stride.into_iter()) {
        Layout::Permuted
    } else {
        Layout::Other
    }
}

/// Whether each stride is the product of the dims before it.
fn is_packed(mut dims: impl Iterator<Item = (usize, usize)>) -> bool {
    let mut expected = 1usize;
    dims.all(|(stride, dim)| {
        let packed = stride == expected;
        expected = expected.saturating_mul(dim);
        packed
    })
}

#[cfg(test)]
mod tests {
    use super::Layout::{Other, Permuted, RowMajor};
    use super::of;

    #[test]
    fn any_order_of_the_dims_is_one_piece_and_gaps_and_repeats_are_not() {
        assert_eq!(of(&[], &[]), RowMajor);
        assert_eq!(of(&[2, 3], &[3, 1]), RowMajor);
        assert_eq!(of(&[3, 2], &[1, 3]), Permuted);
        assert_eq!(of(&[2, 3, 2, 2], &[12, 1, 6, 3]), Permuted);
        assert_eq!(
            of(&[1, 3, 1], &[77, 1, 0]),
            RowMajor,
            "the stride of a dim of 1 does not matter"
        );
        assert_eq!(of(&[0, 3], &[9, 9]), RowMajor);
        assert_eq!(of(&[2, 3], &[12, 4]), Other);
        assert_eq!(of(&[5], &[2]), Other);
        assert_eq!(of(&[2, 3], &[1, 0]), Other);
        assert_eq!(of(&[3, 3], &[1, 1]), Other);
    }
}
