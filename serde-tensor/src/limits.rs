//! How much a message may ask of its reader.

/// Limits of decoding, for [`Decoder::limits`](crate::Decoder::limits).
///
/// Whatever the limits, nothing is allocated that the input's own length does not justify; they exist so that a
/// reader can refuse messages that are honest but too large for it.
///
/// ```
/// use serde_tensor::{Category, Decoder, Limits};
///
/// let bytes = serde_tensor::to_vec(&[[1, 2], [3, 4]])?;
/// let shallow = Decoder::new().limits(Limits::new().depth(1));
/// let error = shallow.from_slice::<Vec<Vec<u8>>>(&bytes).unwrap_err();
/// assert_eq!(error.category(), Category::Limit);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How deep arrays, maps and options may nest. Default 128.
    ///
    /// Each level takes as much stack as the type's own `Deserialize` does: for most types the default needs well under a
    /// megabyte, for a recursive type of some kilobytes it can need several, most of all in a build without optimisation. Put
    /// large parts of a recursive type in a `Box`, or set a lower limit.
    pub depth: usize,
    /// The highest rank of a tensor. Default 64, as in PyTorch and NumPy 2.
    pub rank: usize,
    /// The most segments in a frame. Default 1,048,576; a table of that many takes 24 MiB.
    pub segments: usize,
    /// The longest message, in bytes. Default: no limit but the address space.
    pub message: u64,
    /// The most memory, in bytes, that [`from_reader`](crate::from_reader) reserves (untouched) on a frame's word for its
    /// own length; beyond it the buffer grows as bytes arrive. Default 1 GiB.
    pub reserve: usize,
    /// How many times the length of the message its tensors may take in copies. More than once it is only where several
    /// name the same bytes of a frame and cannot share them: strided ones that are compacted, vectors of numbers, and under
    /// [`Decoder::detach`](crate::Decoder::detach). Default 16.
    pub copies: usize,
}

impl Limits {
    /// The defaults named on each field.
    pub const fn new() -> Self {
        Self {
            depth: 128,
            rank: 64,
            segments: 1 << 20,
            message: u64::MAX,
            reserve: 1 << 30,
            copies: 16,
        }
    }

    /// Sets [`depth`](Self::depth). Above a few thousand, give the thread a larger stack.
    #[must_use]
    pub const fn depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets [`rank`](Self::rank).
    #[must_use]
    pub const fn rank(mut self, rank: usize) -> Self {
        self.rank = rank;
        self
    }

    /// Sets [`segments`](Self::segments).
    #[must_use]
    pub const fn segments(mut self, segments: usize) -> Self {
        self.segments = segments;
        self
    }

    /// Sets [`message`](Self::message), in bytes.
    #[must_use]
    pub const fn message(mut self, bytes: u64) -> Self {
        self.message = bytes;
        self
    }

    /// Sets [`reserve`](Self::reserve), in bytes.
    #[must_use]
    pub const fn reserve(mut self, bytes: usize) -> Self {
        self.reserve = bytes;
        self
    }

    /// Sets [`copies`](Self::copies), in lengths of the message.
    #[must_use]
    pub const fn copies(mut self, times: usize) -> Self {
        self.copies = times;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}
