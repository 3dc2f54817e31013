//! A plan that borrows nothing: the message as a list of shared buffers.

use std::io::{IoSlice, Write};
use std::mem;

use bytes::{Buf, Bytes};

use super::Plan;
use super::write::Batch;
use crate::error::Result;

impl Plan<'_> {
    /// The message as a list of buffers, for transports that take one.
    ///
    /// Tensors whose memory can be shared, as that of the crate's own [`Tensor`](crate::Tensor), are shared with it; others (borrowed elements and views,
    /// what is on a device, libtorch's tensors) are copied. None of the buffers is empty.
    ///
    /// ```
    /// use serde_tensor::{Plan, Tensor};
    ///
    /// let tensor = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
    /// let segments = Plan::new(&tensor)?.to_segments()?;
    /// assert_eq!(segments.last().unwrap().as_ptr(), tensor.bytes().as_ptr());
    /// assert_eq!(serde_tensor::from_slice::<Tensor>(&segments.concat())?, tensor);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Backend` when a copy from a device fails, `Limit` when there is no memory for one.
    pub fn to_segments(&self) -> Result<Vec<Bytes>> {
        let mut segments = Vec::with_capacity(1 + 2 * self.segments.len());
        for source in self.sources() {
            let bytes = self.to_bytes(source)?;
            if !bytes.is_empty() {
                segments.push(bytes);
            }
        }
        Ok(segments)
    }

    /// The plan without its borrow, for writers that outlive it: it goes to other threads, and waits in an async task.
    ///
    /// What [`to_segments`](Self::to_segments) copies is copied here.
    ///
    /// # Errors
    ///
    /// As [`to_segments`](Self::to_segments).
    pub fn into_owned(self) -> Result<OwnedPlan> {
        Ok(OwnedPlan {
            segments: self.to_segments()?,
            next: 0,
            len: self.len,
        })
    }
}

/// A message as a list of buffers, which it shares with the tensors it was planned of. Made by [`Plan::into_owned`].
///
/// It is read through [`Buf`], as async writers do, or whole. Buffers that were read are let go, and everything else here is about
/// those that are left.
///
/// ```
/// use bytes::Buf;
/// use serde_tensor::{Plan, Tensor};
///
/// let tensor = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
/// let mut plan = Plan::new(&tensor)?.into_owned()?;
/// let len = plan.len();
/// let message = std::thread::spawn(move || plan.copy_to_bytes(len)).join().unwrap();
/// assert_eq!(serde_tensor::from_bytes::<Tensor>(message)?, tensor);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnedPlan {
    /// None is empty but those that were read.
    segments: Vec<Bytes>,
    /// The first that was not read.
    next: usize,
    /// Of what is left.
    len: usize,
}

impl OwnedPlan {
    /// The length in bytes of what is left: of the message, before any of it was read.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What is left, in order.
    pub fn segments(&self) -> &[Bytes] {
        &self.segments[self.next..]
    }

    /// What is left, in order.
    pub fn into_segments(mut self) -> Vec<Bytes> {
        self.segments.drain(..self.next);
        self.segments
    }

    /// Writes what is left, vectored, and flushes.
    ///
    /// # Errors
    ///
    /// `Io` when the writer fails or takes nothing. What was written until then is a part of a message.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        let mut batch = Batch::new(writer, self.segments().len());
        for segment in self.segments() {
            batch.push(segment)?;
        }
        batch.finish()
    }
}

impl Buf for OwnedPlan {
    fn remaining(&self) -> usize {
        self.len
    }

    fn chunk(&self) -> &[u8] {
        self.segments().first().map_or(&[], Bytes::as_ref)
    }

    fn chunks_vectored<'b>(&'b self, slices: &mut [IoSlice<'b>]) -> usize {
        let filled = self.segments().iter().zip(slices);
        filled.map(|(segment, slice)| *slice = IoSlice::new(segment)).count()
    }

    /// # Panics
    ///
    /// If fewer than `count` bytes are left, as [`Buf`] says.
    fn advance(&mut self, mut count: usize) {
        assert!(
            count <= self.len,
            "{count} bytes are passed over, {} are left",
            self.len
        );
        self.len -= count;
        while count > 0 {
            let segment = &mut self.segments[self.next];
            if count < segment.len() {
                segment.advance(count);
                return;
            }
            count -= mem::take(segment).len();
            self.next += 1;
        }
    }

    /// Shares the buffer where one holds all of `count` bytes, and copies them otherwise.
    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        assert!(count <= self.len, "{count} bytes are taken, {} are left", self.len);
        if let Some(segment) = self.segments.get(self.next)
            && count <= segment.len()
        {
            let taken = segment.slice(..count);
            self.advance(count);
            return taken;
        }
        let mut copy = Vec::with_capacity(count);
        while copy.len() < count {
            let part = self.chunk().len().min(count - copy.len());
            copy.extend_from_slice(&self.chunk()[..part]);
            self.advance(part);
        }
        Bytes::from(copy)
    }
}
