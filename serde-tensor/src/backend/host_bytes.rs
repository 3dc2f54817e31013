//! A tensor's bytes, and the ways in which a backend gives them.
#![allow(
    unsafe_code,
    reason = "declares the constructors by which backends and callers promise what this crate cannot check, and lends bytes where both did"
)]

use std::borrow::Cow;
use std::ptr::NonNull;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::tensor::{self, Element};

/// A tensor's bytes: lent, shared, or copied to the host piece by piece when they are written.
///
/// | constructor | the bytes | [`Plan::write_to`](crate::Plan::write_to) | [`Plan::to_segments`](crate::Plan::to_segments) |
/// |---|---|---|---|
/// | [`borrowed`](Self::borrowed), [`elements`](Self::elements) | on the host, lent | no copy | a copy |
/// | [`shared`](Self::shared) | on the host, in a buffer that others may keep | no copy | no copy |
/// | [`copied`](Self::copied) | on a device, or not in order | a copy, in pieces | a copy |
/// | [`addressed`](Self::addressed) | on the host, and others may write to them | a copy, in pieces; [`write_to_fd`](crate::Plan::write_to_fd): none | a copy |
pub struct HostBytes<'a>(pub(crate) Source<'a>);

pub(crate) enum Source<'a> {
    Borrowed(&'a [u8]),
    Shared(&'a Bytes),
    Copied(Box<Copier<'a>>),
    Addressed(Box<dyn Addressed + 'a>),
}

/// Gives all bytes, in order, in pieces, to the function it is given.
type Copier<'a> = dyn Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a;

/// Bytes that can be copied, and whose address can be asked for.
pub(crate) trait Addressed {
    fn copy(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

    /// Where all of them are now, under the promises of [`HostBytes::addressed`].
    fn address(&self) -> Option<NonNull<[u8]>>;
}

struct AddressedBy<C, A> {
    copy: C,
    address: A,
}

impl<C, A> Addressed for AddressedBy<C, A>
where
    C: Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    A: Fn() -> Option<NonNull<[u8]>>,
{
    fn copy(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        (self.copy)(sink)
    }

    fn address(&self) -> Option<NonNull<[u8]>> {
        (self.address)()
    }
}

/// The promise of [`Encoder::assume_unmodified`](crate::Encoder::assume_unmodified), for all values that an encoder is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unmodified(());

impl Unmodified {
    /// The promise is given.
    ///
    /// # Safety
    ///
    /// That of [`Encoder::assume_unmodified`](crate::Encoder::assume_unmodified) for every tensor that comes together with it.
    pub(crate) unsafe fn promised() -> Self {
        Self(())
    }
}

impl<'a> HostBytes<'a> {
    /// Bytes on the host that do not change while they are lent.
    #[inline]
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Source::Borrowed(bytes))
    }

    /// Bytes on the host in a buffer that may outlive the tensor: a message made of [`Bytes`] shares it.
    #[inline]
    pub fn shared(bytes: &'a Bytes) -> Self {
        Self(Source::Shared(bytes))
    }

    /// Elements on the host; lent, except on a big-endian host, where they are copied.
    pub fn elements<E: Element>(elements: &'a [E]) -> Self {
        match tensor::little_endian(elements) {
            Cow::Borrowed(bytes) => Self::borrowed(bytes),
            Cow::Owned(bytes) => Self::copied(move |sink| sink(&bytes)),
        }
    }

    /// Bytes that are not on the host, or not in order: `copy` hands all of them to its argument, in pieces, each time it is
    /// called, and returns the first error its argument returns.
    pub fn copied(copy: impl Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a) -> Self {
        Self(Source::Copied(Box::new(copy)))
    }

    /// Bytes that lie on the host, in order and little-endian, but which other code may write to while this tensor is borrowed, so that no
    /// `&[u8]` of them may exist.
    ///
    /// `copy` is as in [`copied`](Self::copied). `address` says where all the bytes are now; it is asked again each time before they
    /// are used. `None`, or another number of bytes than the tensor's, and they are copied.
    /// [`Plan::write_to_fd`](crate::Plan::write_to_fd) asks, to give the address to the operating system, which reads the bytes; this crate reads them
    /// there only under [`Encoder::assume_unmodified`](crate::Encoder::assume_unmodified).
    ///
    /// ```
    /// use std::cell::Cell;
    /// use std::ptr::NonNull;
    /// use serde_tensor::backend::{Description, HostBytes};
    ///
    /// /// Samples that are written to while others hold a reference.
    /// struct Samples { values: Box<[Cell<u8>]> }
    ///
    /// impl Samples {
    ///     fn host_bytes(&self) -> HostBytes<'_> {
    ///         let copy = |sink: &mut dyn FnMut(&[u8]) -> serde_tensor::Result<()>| {
    ///             let piece: Vec<u8> = self.values.iter().map(Cell::get).collect();
    ///             sink(&piece)
    ///         };
    ///         let address = || {
    ///             let first = NonNull::from(&*self.values).cast::<u8>();
    ///             Some(NonNull::slice_from_raw_parts(first, self.values.len()))
    ///         };
    ///         // SAFETY: the boxed cells are neither freed nor moved while `self` is borrowed.
    ///         unsafe { HostBytes::addressed(copy, address) }
    ///     }
    /// }
    /// # let samples = Samples { values: vec![Cell::new(7)].into() };
    /// # let _ = samples.host_bytes();
    /// ```
    ///
    /// # Safety
    ///
    /// When `address` returns a range, then until the next time that code of the backend's or of the user's runs on this thread, all bytes of
    /// the range are memory of this process that may be read; calls of the `address` of other tensors meanwhile do not change that. The
    /// bytes themselves may change at any time, by other threads too. That another thread frees or moves their memory need not be ruled
    /// out where it would be a data race with every read of the tensor, those of its own library included.
    ///
    /// While nothing is done to the tensor or its memory, though, all of this holds for as long as the tensor is borrowed, the bytes do not
    /// change, and the `HostBytes` need not be kept.
    pub unsafe fn addressed(
        copy: impl Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a,
        address: impl Fn() -> Option<NonNull<[u8]>> + 'a,
    ) -> Self {
        Self(Source::Addressed(Box::new(AddressedBy { copy, address })))
    }

    /// The bytes, which are `len`, where they are lent: those that others could write to if the caller promised that nobody does.
    #[inline]
    pub(crate) fn lent(&self, len: usize, unmodified: Option<Unmodified>) -> Result<Option<&'a [u8]>> {
        let bytes = match &self.0 {
            Source::Borrowed(bytes) => *bytes,
            Source::Shared(bytes) => *bytes,
            Source::Addressed(_) if unmodified.is_some() => {
                // SAFETY: the backend promised that this is readable memory, and stays so and unchanged for `'a`, for which the
                // tensor is borrowed, if nobody does anything to it; and that, the caller promised.
                return Ok(self.address(len).map(|range| unsafe { range.as_ref() }));
            }
            Source::Copied(_) | Source::Addressed(_) => return Ok(None),
        };
        if bytes.len() == len {
            Ok(Some(bytes))
        } else {
            Err(wrong_length(bytes.len(), len))
        }
    }

    /// Where the bytes, which are `len`, are now, if they may be used there and are not lent.
    pub(crate) fn address(&self, len: usize) -> Option<NonNull<[u8]>> {
        match &self.0 {
            Source::Addressed(bytes) => bytes.address().filter(|range| range.len() == len),
            Source::Borrowed(_) | Source::Shared(_) | Source::Copied(_) => None,
        }
    }

    /// Hands all bytes to `sink`, which are `len`, or it is an error.
    pub(crate) fn read(&self, len: usize, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut given = 0usize;
        let mut counted = |piece: &[u8]| {
            given = given.saturating_add(piece.len());
            if given > len {
                Err(wrong_length(given, len))
            } else {
                sink(piece)
            }
        };
        match &self.0 {
            Source::Borrowed(bytes) => counted(bytes)?,
            Source::Shared(bytes) => counted(bytes)?,
            Source::Copied(copy) => copy(&mut counted)?,
            Source::Addressed(bytes) => bytes.copy(&mut counted)?,
        }
        if given == len {
            Ok(())
        } else {
            Err(wrong_length(given, len))
        }
    }

    /// The bytes in one piece.
    pub(crate) fn to_contiguous(&self, len: usize) -> Result<Cow<'a, [u8]>> {
        if let Some(bytes) = self.lent(len, None)? {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(len)
            .map_err(|_| Error::limit(format!("no memory for a host copy of {len} bytes")))?;
        self.read(len, &mut |piece| {
            copy.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(Cow::Owned(copy))
    }
}

#[cold]
fn wrong_length(given: usize, len: usize) -> Error {
    Error::backend(format!(
        "the tensor's library gives {given} bytes, its dtype, shape and strides ask for {len}"
    ))
}
