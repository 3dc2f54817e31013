//! Host memory that bytes go through on their way to a device.
#![allow(
    unsafe_code,
    reason = "tch copies a slice into a tensor only if it made the tensor itself"
)]

use std::ptr;

use ::tch::{Device, Kind, Tensor};

use super::import::refused;
use super::signed;
use crate::{Error, Result};

/// Memory of which no tensor is ever given away, so that nothing else writes, moves or frees it.
pub(super) struct Staging {
    /// Invariant: dense, of bytes, on the CPU.
    memory: Tensor,
    /// Invariant: at most as many bytes as `memory` has.
    len: usize,
}

impl Staging {
    /// Memory of `len` bytes, pinned for a GPU where libtorch can.
    pub(super) fn new(len: usize, device: Device) -> Result<Self> {
        // Zeros, since what lies between segments goes along.
        let memory = Tensor::f_zeros([signed(len)?], (Kind::Uint8, Device::Cpu)).map_err(refused)?;
        let memory = match device {
            // Pinning is a matter of speed alone.
            Device::Cuda(_) => memory.f_pin_memory(device).unwrap_or(memory),
            _ => memory,
        };
        if memory.data_ptr().is_null() || memory.numel() != len {
            return Err(Error::backend("libtorch made a tensor without memory"));
        }
        Ok(Self { memory, len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Copies bytes to an offset.
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        self.check(at, bytes.len())?;
        let memory = self.memory.data_ptr().cast::<u8>();
        // SAFETY: at + bytes.len() <= self.len was checked, which is the number of bytes that `memory` has (invariants). Nobody else uses
        // them: the tensor was made here, `self` is borrowed mutably, and the parts that are lent are read before the call that
        // they are lent to returns. `bytes` is borrowed, and therefore elsewhere.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.add(at), bytes.len()) };
        Ok(())
    }

    /// Copies a flat tensor of bytes to an offset.
    pub(super) fn copy(&mut self, at: usize, bytes: &Tensor) -> Result<()> {
        let mut place = self.part(at, bytes.numel())?;
        place.f_copy_(bytes).map_err(refused)
    }

    /// Copies the first bytes into a tensor of as many, wherever it is, and waits until they are there.
    pub(super) fn send(&mut self, to: &mut Tensor) -> Result<()> {
        let part = self.part(0, to.numel())?;
        to.f_copy_(&part).map_err(refused)
    }

    fn part(&self, at: usize, len: usize) -> Result<Tensor> {
        self.check(at, len)?;
        self.memory.f_narrow(0, signed(at)?, signed(len)?).map_err(refused)
    }

    fn check(&self, at: usize, len: usize) -> Result<()> {
        if at.checked_add(len).is_some_and(|end| end <= self.len) {
            return Ok(());
        }
        Err(Error::backend(format!("{len} bytes at {at} of {}", self.len)))
    }
}
