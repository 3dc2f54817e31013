//! How a tensor's elements lie in memory.

use smallvec::SmallVec;

/// Whether the elements fill one piece of memory, each place once: row-major, or row-major with the dims in another order.
///
/// Such strides are also what the wire accepts, with a length that is that of the elements.
pub(super) fn is_dense(shape: &[usize], strides: &[usize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut dims: SmallVec<[(usize, usize); 4]> = strides
        .iter()
        .copied()
        .zip(shape.iter().copied())
        .filter(|&(_, dim)| dim > 1)
        .collect();
    dims.sort_unstable();
    let mut expected = 1usize;
    dims.iter().all(|&(stride, dim)| {
        let dense = stride == expected;
        expected = expected.saturating_mul(dim);
        dense
    })
}

#[cfg(test)]
mod tests {
    use super::is_dense;

    #[test]
    fn any_order_of_the_dims_is_dense_and_gaps_and_repeats_are_not() {
        assert!(is_dense(&[], &[]));
        assert!(is_dense(&[2, 3], &[3, 1]));
        assert!(is_dense(&[3, 2], &[1, 3]));
        assert!(is_dense(&[2, 3, 2, 2], &[12, 1, 6, 3]));
        assert!(
            is_dense(&[1, 3, 1], &[77, 1, 0]),
            "the stride of a dim of 1 does not matter"
        );
        assert!(is_dense(&[0, 3], &[9, 9]));
        assert!(!is_dense(&[2, 3], &[12, 4]));
        assert!(!is_dense(&[5], &[2]));
        assert!(!is_dense(&[2, 3], &[1, 0]));
        assert!(!is_dense(&[3, 3], &[1, 1]));
    }
}
