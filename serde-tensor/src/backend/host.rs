//! The crate's own tensors, through the same trait as everybody's.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{AtHand, Description, HostBytes, Import, Imported, KeepAlive, Plain, Storage, TensorBackend};
use crate::device::{Present, Transfer};
use crate::error::{Error, Result};
use crate::leaf::{self, TensorVisitor};
use crate::tensor::{Tensor, TensorView};
use crate::wire::to_u64;
use crate::{Presence, TensorDeserialize, TensorSerialize};

impl TensorBackend for Tensor {
    const HOST_ONLY: bool = true;

    #[inline]
    fn describe(&self) -> Result<Description<'_>> {
        Ok(Description::packed(self.packed(), self.shape()).storage(storage(self.bytes())))
    }

    #[inline]
    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        Ok(HostBytes::shared(self.as_shared()))
    }

    #[inline(always)]
    fn at_hand(&self) -> Option<AtHand<'_>> {
        Some(AtHand {
            dtype: self.packed(),
            shape: self.shape(),
            bytes: self.bytes(),
        })
    }

    #[inline(always)]
    fn arrive(plain: &Plain<'_>) -> Option<Result<Self>> {
        let bytes = plain.to_bytes(plain.dtype().dtype().align());
        Some(bytes.map(|bytes| Tensor::of_packed(plain.dtype(), plain.shape(), bytes)))
    }

    fn import(import: Import<'_>) -> Result<Imported<Self>> {
        let dtype = import.dtype();
        let (bytes, transfer) = import.to_bytes(dtype.align())?;
        let shape = import.descriptor.shape;
        Ok(Imported::new(Tensor::from_parts(dtype, shape, bytes), transfer))
    }

    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        Some(Box::new(self.shared_bytes()))
    }
}

crate::impl_tensor!(Tensor);

impl leaf::Source for TensorView<'_> {
    #[inline]
    fn describe(&self) -> Result<Description<'_>> {
        Ok(Description::packed(self.packed(), self.shape()).storage(storage(self.bytes())))
    }

    #[inline]
    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        Ok(HostBytes::borrowed(self.bytes()))
    }

    #[inline(always)]
    fn at_hand(&self) -> Option<AtHand<'_>> {
        Some(AtHand {
            dtype: self.packed(),
            shape: self.shape(),
            bytes: self.bytes(),
        })
    }

    // Nothing can keep borrowed bytes alive: only a plan, which borrows them too, ties views.
    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        None
    }
}

/// A view is made from the message's own bytes or not at all.
fn import_view(import: Import<'_>) -> Result<Imported<TensorView<'_>>> {
    if import.strides().is_some() {
        return Err(Error::data(
            "a TensorView cannot show strided data, which must be compacted: decode into a Tensor",
        ));
    }
    let Some(data) = import.borrowed() else {
        return Err(Error::data(
            "a TensorView borrows from the message, and these bytes are not in it as they are: decode into a Tensor",
        ));
    };
    let view = TensorView::from_parts(import.dtype(), import.descriptor.shape, data);
    Ok(Imported::new(view, Transfer::Borrowed))
}

impl Serialize for TensorView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        leaf::serialize_source(self, serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for TensorView<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        leaf::deserialize_with(
            deserializer,
            &HostOnly,
            |plain| Some(Ok(TensorView::of_packed(plain.dtype(), plain.shape(), plain.data()))),
            import_view,
        )
    }
}

impl TensorSerialize for TensorView<'_> {
    const PRESENCE: Presence = Presence::Always;

    fn contains_tensor(&self) -> bool {
        true
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn visit_tensors<'v>(&'v self, visitor: &mut TensorVisitor<'v, '_>) -> Result<()> {
        visitor.source(self)
    }
}

impl<'de: 'a, 'a> TensorDeserialize<'de> for TensorView<'a> {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

/// The devices of a type that lives on the host alone.
pub(crate) struct HostOnly;

impl Present for HostOnly {
    fn host_only(&self) -> bool {
        true
    }

    fn is_available(&self, device: crate::Device) -> bool {
        device.is_cpu()
    }

    fn available(&self) -> Vec<crate::Device> {
        vec![crate::Device::Cpu]
    }

    fn why_missing(&self, _: crate::Device) -> Option<String> {
        None
    }
}

/// All of a process's host memory is one space.
#[inline]
fn storage(bytes: &[u8]) -> Storage {
    Storage {
        space: 0,
        address: to_u64(bytes.as_ptr().addr()),
    }
}
