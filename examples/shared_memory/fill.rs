//! A message written into memory that was lent without a value.

#![allow(
    unsafe_code,
    reason = "zeroing memory that is overwritten next would take as long as the message"
)]

use std::io::{self, Write};
use std::mem::MaybeUninit;

use iceoryx2::prelude::ipc;
use iceoryx2::sample_mut::SampleMut;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use serde_tensor::Plan;

use crate::Result;

/// Writes the message, which must fill the sample.
pub(crate) fn with_plan(
    mut sample: SampleMutUninit<ipc::Service, [MaybeUninit<u8>], ()>,
    plan: &Plan<'_>,
) -> Result<SampleMut<ipc::Service, [u8], ()>> {
    let mut left = Left(sample.payload_mut());
    plan.write_to(&mut left)?;
    if !left.0.is_empty() {
        return Err("the message is shorter than the sample".into());
    }
    // SAFETY: `Left` only shrinks by bytes that it wrote, and it is empty; so all of the payload is written.
    Ok(unsafe { sample.assume_init() })
}

/// The part of the memory that is not written.
struct Left<'a>(&'a mut [MaybeUninit<u8>]);

impl Write for Left<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.0.len());
        let (next, left) = std::mem::take(&mut self.0).split_at_mut(len);
        next.write_copy_of_slice(&bytes[..len]);
        self.0 = left;
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
