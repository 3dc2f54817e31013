//! What a libtorch tensor says of itself, and its bytes.

use std::cell::Cell;
use std::rc::Rc;

use ::tch::Tensor;

use super::layout::{self, Layout};
use super::plain::Plain;
use super::{address, fault, gather, signed, transfer};
use crate::backend::{Description, HostBytes, Storage};
use crate::{Error, Result};

/// How many bytes are copied at once: few enough to stay in cache until they are passed on.
const PIECE: usize = 128 * 1024;

/// [`PIECE`] of a tensor on a device: a transfer takes time by itself.
const DEVICE_PIECE: usize = 4 << 20;

thread_local! {
    /// The buffer the pieces go through. Taken while it is used, since what receives them may send tensors of its own.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What takes a tensor's bytes, piece by piece.
pub(super) type Sink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

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
        let layout = match &plain.strides {
            None => Layout::RowMajor,
            Some(strides) => layout::of(&plain.shape, strides),
        };
        match layout {
            _ if plain.lazy => Self::Gathered,
            Layout::RowMajor => Self::RowMajor,
            Layout::Permuted => Self::Permuted,
            Layout::Other => Self::Gathered,
        }
    }
}

/// A tensor that can travel, looked at once.
struct Seen<'t> {
    tensor: &'t Tensor,
    plain: Plain,
    form: Form,
    len: usize,
}

pub(super) fn describe(tensor: &Tensor) -> Result<Description<'_>> {
    Ok(Seen::of(tensor)?.description())
}

/// The bytes, copied piece by piece each time they are wanted, or found where they are then.
///
/// They are not lent: libtorch can change them, and where they are, behind a shared reference. What is held is an alias made by
/// `data`, which keeps its storage, shape and strides when the tensor is given others.
pub(super) fn host_bytes(tensor: &Tensor) -> Result<HostBytes<'_>> {
    Seen::of(tensor)?.kept()
}

/// Both at once, for bytes that are read before anything else can happen to the tensor.
pub(super) fn export(tensor: &Tensor) -> Result<(Description<'_>, HostBytes<'_>)> {
    let seen = Seen::of(tensor)?;
    Ok((seen.description(), seen.at_hand()?))
}

impl<'t> Seen<'t> {
    fn of(tensor: &'t Tensor) -> Result<Self> {
        let plain = Plain::of(tensor)?;
        let len = plain.elements()?.checked_mul(plain.element_size());
        Ok(Self {
            tensor,
            form: Form::of(&plain),
            len: len.ok_or_else(too_long)?,
            plain,
        })
    }

    fn description(&self) -> Description<'t> {
        let description = Description::new(self.plain.dtype, &self.plain.shape)
            .device(self.plain.device)
            .requires_grad(self.tensor.requires_grad());
        if let Form::Gathered = self.form {
            return description;
        }
        let description = match (&self.form, &self.plain.strides) {
            (Form::Permuted, Some(strides)) => description.strides(strides),
            _ => description,
        };
        match u64::try_from(self.plain.address) {
            // All of a device's memory is one space. Empty tensors are nowhere.
            Ok(address) if address != 0 => description.storage(Storage { space: 0, address }),
            _ => description,
        }
    }

    fn kept(&self) -> Result<HostBytes<'t>> {
        if self.len == 0 {
            return Ok(HostBytes::borrowed(&[]));
        }
        let alias = self.tensor.f_data().map_err(unreadable)?;
        let source = match self.form {
            Form::Permuted => {
                let elements = signed(self.len / self.plain.element_size())?;
                alias.f_as_strided([elements], [1], None).map_err(unreadable)?
            }
            // In their own order these are as long as in memory.
            Form::RowMajor | Form::Gathered => alias,
        };
        let device = self.plain.device;
        if !device.is_cpu()
            && let Some(bytes) = gather::join(self.tensor, &source, device, self.len, self.plain.lazy)
        {
            return Ok(bytes);
        }
        let copy = self.copier();
        Ok(match self.form {
            Form::RowMajor | Form::Permuted if self.plain.device.is_cpu() => {
                address::addressed(Rc::new(source), self.plain.element_size(), self.len, copy)
            }
            _ => HostBytes::copied(move |sink| copy(&source, sink)),
        })
    }

    /// Without an alias, if one read takes them all.
    fn at_hand(&self) -> Result<HostBytes<'t>> {
        match self.form {
            Form::RowMajor if self.len <= PIECE && self.len > 0 && self.plain.device.is_cpu() => {
                let element = self.plain.element_size();
                Ok(address::addressed(self.tensor, element, self.len, self.copier()))
            }
            _ => self.kept(),
        }
    }

    fn copier(&self) -> impl Fn(&Tensor, &mut Sink<'_>) -> Result<()> + use<> {
        let len = self.len;
        let pieces = Pieces {
            element: self.plain.element_size(),
            lazy: self.plain.lazy,
            remote: !self.plain.device.is_cpu(),
        };
        let most = if pieces.remote { DEVICE_PIECE } else { PIECE };
        move |source, sink| {
            let mut buffer = Borrowed::take(len.min(most));
            pieces.send(source, len, &mut buffer.0, sink)
        }
    }
}

/// How the bytes of a tensor are read in row-major order.
struct Pieces {
    /// The size of an element in bytes.
    element: usize,
    lazy: bool,
    /// They are on a device.
    remote: bool,
}

impl Pieces {
    /// Gives the `len` bytes of `view` to `sink`, cut along the outermost dims so that no piece exceeds the buffer.
    fn send(&self, view: &Tensor, len: usize, buffer: &mut [u8], sink: &mut Sink<'_>) -> Result<()> {
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
        if self.remote {
            transfer::count(out.len());
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
pub(super) struct Borrowed(pub(super) Vec<u8>);

impl Borrowed {
    /// At least as long as asked for.
    pub(super) fn take(len: usize) -> Self {
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
pub(super) fn unreadable(error: ::tch::TchError) -> Error {
    fault("libtorch cannot read the tensor", error)
}

#[cold]
fn too_long() -> Error {
    Error::backend("a tensor longer than the address space")
}
