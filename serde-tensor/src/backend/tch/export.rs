//! What a libtorch tensor says of itself, and its bytes.

use std::cell::Cell;

use ::tch::Tensor;

use super::layout::{self, Layout};
use super::plain::Plain;
use super::{fault, signed};
use crate::backend::{Description, HostBytes, Storage};
use crate::{Error, Result};

/// How many bytes are copied at once: few enough to stay in cache until they are passed on.
const PIECE: usize = 128 * 1024;

thread_local! {
    /// The buffer the pieces go through. Taken while it is used, since what receives them may send tensors of its own.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// How a tensor's bytes lie in memory, and so how they travel.
enum Form {
    /// In one piece, in row-major order: as they are.
    RowMajor,
    /// In one piece, in another order of the dims: as they are too.
    Permuted,
    /// With gaps, or more than once, or to be conjugated or negated: in row-major order.
    Gathered,
}

impl Form {
    fn of(plain: &Plain) -> Self {
        match layout::of(&plain.shape, &plain.strides) {
            _ if plain.lazy => Self::Gathered,
            Layout::RowMajor => Self::RowMajor,
            Layout::Permuted => Self::Permuted,
            Layout::Other => Self::Gathered,
        }
    }
}

pub(super) fn describe(tensor: &Tensor) -> Result<Description<'_>> {
    let plain = Plain::of(tensor)?;
    let description = Description::new(plain.dtype, &plain.shape)
        .device(plain.device)
        .requires_grad(tensor.requires_grad());
    if let Form::Gathered = Form::of(&plain) {
        return Ok(description);
    }
    let description = description.strides(&plain.strides);
    Ok(match u64::try_from(tensor.data_ptr().addr()) {
        // All of a device's memory is one space. Empty tensors are nowhere.
        Ok(address) if address != 0 => description.storage(Storage { space: 0, address }),
        _ => description,
    })
}

/// The bytes, copied piece by piece each time they are wanted.
///
/// They are never lent: libtorch can change them, and where they are, behind a shared reference. What is held is an alias made by
/// `detach`, which keeps its storage, shape and strides when the tensor is given others.
pub(super) fn host_bytes(tensor: &Tensor) -> Result<HostBytes<'static>> {
    let plain = Plain::of(tensor)?;
    let elements = plain.elements()?;
    if elements == 0 {
        return Ok(HostBytes::borrowed(&[]));
    }
    let element = plain.element_size();
    let len = elements.checked_mul(element).ok_or_else(too_long)?;
    let alias = tensor.f_detach().map_err(unreadable)?;
    let source = match Form::of(&plain) {
        Form::Permuted => {
            let elements = signed(elements)?;
            alias.f_as_strided([elements], [1], None).map_err(unreadable)?
        }
        // In their own order these are as long as in memory.
        Form::RowMajor | Form::Gathered => alias,
    };
    let pieces = Pieces {
        element,
        lazy: plain.lazy,
    };
    Ok(HostBytes::copied(move |sink| {
        let mut buffer = Borrowed::take(len.min(PIECE));
        pieces.send(&source, len, &mut buffer.0, sink)
    }))
}

/// How the bytes of a tensor are read in row-major order.
struct Pieces {
    /// The size of an element in bytes.
    element: usize,
    lazy: bool,
}

impl Pieces {
    /// Gives the `len` bytes of `view` to `sink`, cut along the outermost dims so that no piece exceeds the buffer.
    fn send(
        &self,
        view: &Tensor,
        len: usize,
        buffer: &mut [u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if len <= buffer.len() {
            self.read(view, &mut buffer[..len])?;
            return sink(&buffer[..len]);
        }
        let shape = view.size();
        let Some(dim) = shape.iter().position(|&size| size > 1) else {
            return Err(Error::backend("a tensor's shape changed while it was read"));
        };
        let size = usize::try_from(shape[dim]).unwrap_or(1);
        let row = len / size;
        let rows = (buffer.len() / row).max(1);
        for start in (0..size).step_by(rows) {
            let count = rows.min(size - start);
            let part = view
                .f_narrow(signed(dim)?, signed(start)?, signed(count)?)
                .map_err(unreadable)?;
            self.send(&part, row * count, buffer, sink)?;
        }
        Ok(())
    }

    /// Copies a whole view, which libtorch checks to be at least as long.
    fn read(&self, view: &Tensor, out: &mut [u8]) -> Result<()> {
        // What has no memory would be copied from address 0.
        if view.data_ptr().is_null() {
            return Err(Error::backend("a tensor lost its memory while it was being sent"));
        }
        let elements = out.len() / self.element;
        let copied = if self.lazy {
            let resolved = view.f_resolve_conj().and_then(|view| view.f_resolve_neg());
            resolved.and_then(|view| view.f_copy_data_u8(out, elements))
        } else {
            view.f_copy_data_u8(out, elements)
        };
        copied.map_err(unreadable)
    }
}

/// The thread's buffer, given back on drop.
struct Borrowed(Vec<u8>);

impl Borrowed {
    /// At least as long as asked for.
    fn take(len: usize) -> Self {
        let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        Self(buffer)
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        // While the thread ends there is no place for it.
        let _ = BUFFER.try_with(|place| place.set(buffer));
    }
}

#[cold]
fn unreadable(error: ::tch::TchError) -> Error {
    fault("libtorch cannot read the tensor", error)
}

#[cold]
fn too_long() -> Error {
    Error::backend("a tensor longer than the address space")
}
