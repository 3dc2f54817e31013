//! A libtorch tensor from what arrived. Everything is checked before libtorch is called: its functions trust, and its
//! errors cost milliseconds.

use std::borrow::Cow;

use ::tch::{Kind, Tensor};
use smallvec::{SmallVec, smallvec};

use super::arena::Arena;
use super::segments::Segments;
use super::transfer::{self, Target};
use super::{fault, kind, memory, signed};
use crate::backend::{Import, Imported};
use crate::{Error, Result, Transfer};

/// A shape or strides, as libtorch takes them.
type Signed = SmallVec<[i64; 4]>;

/// The tensor that is to be made, as libtorch wants to be told.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    pub(super) kind: Kind,
    pub(super) element: usize,
    size: Signed,
    strides: Option<Signed>,
    pub(super) target: Target,
    pub(super) requires_grad: bool,
}

pub(super) fn import(import: &Import<'_>) -> Result<Imported<Tensor>> {
    let wanted = Wanted::of(import)?;
    if wanted.target.is_remote() {
        let tensor = match on_device(&wanted, import)? {
            Some(tensor) => tensor,
            None => wanted.copy(import)?,
        };
        return Ok(Imported::new(tensor, Transfer::HostToDevice));
    }
    if let Some((arena, offset)) = import.memory::<Arena>()
        && !import.is_detached()
        && offset.is_multiple_of(wanted.element)
    {
        let view = |segments: &mut Segments| segments.in_message(&wanted, arena, offset, import);
        if let Some(tensor) = import.with_state(view) {
            return Ok(Imported::new(tensor?, Transfer::Shared));
        }
    }
    Ok(Imported::copied(match tied(&wanted, import) {
        Some(tensor) => tensor?,
        None => wanted.copy(import)?,
    }))
}

/// A tensor that shares the copy of its segment with others.
///
/// Elements lie at multiples of their size in libtorch's memory, as they did where they came from; in a segment that another tensor
/// begins they need not, and then the tensor has memory of its own. So below.
fn tied(wanted: &Wanted, import: &Import<'_>) -> Option<Result<Tensor>> {
    let (segment, offset) = import.segment()?;
    let bytes = segment.bytes()?;
    if !offset.is_multiple_of(wanted.element) {
        return None;
    }
    import.with_state(|segments: &mut Segments| segments.tied(wanted, &segment, bytes, offset, import))
}

/// A tensor that moved to its device together with others.
fn on_device(wanted: &Wanted, import: &Import<'_>) -> Result<Option<Tensor>> {
    let Some((segment, offset)) = import.place().filter(|_| !import.is_detached()) else {
        return Ok(None);
    };
    if !offset.is_multiple_of(wanted.element) {
        return Ok(None);
    }
    let moved = import.with_state(|segments: &mut Segments| segments.on_device(wanted, &segment, offset, import));
    moved.transpose().map(Option::flatten)
}

impl Wanted {
    fn of(import: &Import<'_>) -> Result<Self> {
        let kind = kind::kind(import.dtype())?;
        if import.requires_grad() && !kind::is_differentiable(kind) {
            return Err(Error::backend(format!(
                "a tensor of {} that requires a gradient: libtorch has them of floating point and complex dtypes only",
                import.dtype()
            )));
        }
        let shape = import.shape();
        // The strides of an empty tensor say nothing, and may say it with any numbers.
        let strides = import.strides().filter(|_| !shape.contains(&0));
        Ok(Self {
            kind,
            element: kind::size(import.dtype()),
            size: shape.iter().map(|&dim| signed(dim)).collect::<Result<_>>()?,
            strides: strides
                .map(|strides| {
                    strides
                        .iter()
                        .zip(shape)
                        .map(|(&stride, &dim)| stride_of(stride, dim))
                        .collect()
                })
                .transpose()?,
            target: Target::of(import.device())?,
            requires_grad: import.requires_grad(),
        })
    }

    /// The tensor, in memory of its own.
    pub(super) fn copy(&self, import: &Import<'_>) -> Result<Tensor> {
        import.account(import.len())?;
        if let Some((arena, offset)) = import.memory::<Arena>() {
            let flat = self.copy_out(&arena.part(offset, import.len())?)?;
            return self.view(&self.moved(flat)?, 0);
        }
        let bytes = import.bytes();
        if let (None, false) = (&self.strides, self.target.is_remote()) {
            return self.finish(memory::filled(self.kind, &self.size, bytes)?);
        }
        let elements = signed(bytes.len() / self.element)?;
        let mut tensor = self.moved(memory::filled(self.kind, &[elements], bytes)?)?;
        let strides = self.strides();
        // Its bounds are checked.
        let _same = tensor
            .f_as_strided_(&*self.size, strides.as_slice(), 0)
            .map_err(refused)?;
        self.finish(tensor)
    }

    /// Bytes, copied by libtorch into new memory, as elements in a row.
    fn copy_out(&self, bytes: &Tensor) -> Result<Tensor> {
        let mut copy = memory::filled(Kind::Uint8, &[signed(bytes.numel())?], &[])?;
        copy.f_copy_(bytes).map_err(refused)?;
        copy.f_view_dtype(self.kind).map_err(refused)
    }

    /// A flat tensor that nobody else has, on the device.
    fn moved(&self, flat: Tensor) -> Result<Tensor> {
        if self.target.is_remote() {
            transfer::send(&flat, self.kind, self.target)
        } else {
            Ok(flat)
        }
    }

    fn strides(&self) -> Cow<'_, Signed> {
        match &self.strides {
            Some(strides) => Cow::Borrowed(strides),
            None => Cow::Owned(row_major_strides(&self.size)),
        }
    }

    /// The tensor as a view of `flat`, which is one-dimensional, of the same kind, and on the same device.
    ///
    /// `data` gives it a version counter of its own: plain views share one, and an in-place step on one tensor would fail
    /// the backward pass of another.
    pub(super) fn view(&self, flat: &Tensor, first: usize) -> Result<Tensor> {
        let mut tensor = flat.f_data().map_err(refused)?;
        let strides = self.strides();
        let _same = tensor
            .f_as_strided_(&*self.size, strides.as_slice(), signed(first)?)
            .map_err(refused)?;
        self.finish(tensor)
    }

    fn finish(&self, tensor: Tensor) -> Result<Tensor> {
        if self.requires_grad {
            let _same = tensor.f_set_requires_grad(true).map_err(refused)?;
        }
        Ok(tensor)
    }
}

/// The stride of a dim of 1 is never used, and may be any number.
fn stride_of(stride: usize, dim: usize) -> Result<i64> {
    if dim == 1 {
        Ok(signed(stride).unwrap_or(1))
    } else {
        signed(stride)
    }
}

/// Of a shape that is known to have an addressable length.
fn row_major_strides(size: &[i64]) -> Signed {
    let mut strides: Signed = smallvec![1; size.len()];
    let mut stride = 1i64;
    for (slot, &dim) in strides.iter_mut().zip(size).rev() {
        *slot = stride;
        stride = stride.saturating_mul(dim.max(1));
    }
    strides
}

#[cold]
pub(super) fn refused(error: ::tch::TchError) -> Error {
    fault("libtorch cannot make the tensor", error)
}
