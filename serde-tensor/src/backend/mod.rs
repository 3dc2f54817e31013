//! Tensor types of other libraries: what they implement to travel.
//!
//! A type implements [`TensorBackend`] and says [`impl_tensor!`](crate::impl_tensor); from then on it stands in `#[tensor]` fields,
//! containers and generics as the crate's own [`Tensor`](crate::Tensor) does. The example `custom_backend` of the repository is a whole one.

mod description;
mod host;
mod host_bytes;
mod import;
mod keep_alive;
mod memory;
mod plain;
#[cfg(feature = "tch")]
pub mod tch;

#[doc(hidden)]
pub use description::AtHand;
pub use description::Description;
pub use host_bytes::HostBytes;
pub use import::{Import, Imported, Segment};
pub use keep_alive::KeepAlive;
pub use memory::Memory;
#[doc(hidden)]
pub use plain::Plain;

pub(crate) use host::HostOnly;
pub(crate) use host_bytes::{Source, Unmodified};
pub(crate) use import::Data;

pub use crate::call::encode::Storage;
pub use crate::call::planning::with_plan_state;

use std::ops::Range;

use crate::device::{Device, Present};
use crate::error::Result;

/// A tensor type that can travel.
///
/// It describes itself, lends or copies its bytes, and is made from bytes. Every part may fail; a failure is reported as an
/// error of category [`Backend`](crate::Category::Backend) with the field's path.
///
/// ```
/// use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
/// use serde_tensor::{DType, Result};
///
/// /// A matrix of `f32`, row by row.
/// #[derive(Debug, PartialEq)]
/// struct Matrix { rows: usize, columns: usize, values: Vec<f32> }
///
/// impl TensorBackend for Matrix {
///     const HOST_ONLY: bool = true;
///
///     fn describe(&self) -> Result<Description<'_>> {
///         Ok(Description::new(DType::F32, &[self.rows, self.columns]))
///     }
///
///     fn host_bytes(&self) -> Result<HostBytes<'_>> {
///         Ok(HostBytes::elements(&self.values))
///     }
///
///     fn import(import: Import<'_>) -> Result<Imported<Self>> {
///         let &[rows, columns] = import.shape() else {
///             return Err(serde_tensor::Error::backend("a matrix has two dims"));
///         };
///         Ok(Imported::copied(Matrix { rows, columns, values: import.to_vec()? }))
///     }
/// }
///
/// serde_tensor::impl_tensor!(Matrix);
///
/// let matrix = Matrix { rows: 1, columns: 2, values: vec![0.5, 2.0] };
/// let bytes = serde_tensor::to_vec(&matrix)?;
/// assert_eq!(serde_tensor::from_slice::<Matrix>(&bytes)?, matrix);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub trait TensorBackend: Sized {
    /// The type lives on the host alone: it lands on the CPU whatever any rule says, and nothing is missing.
    const HOST_ONLY: bool = false;

    /// What the tensor is. Copies nothing and waits for no device.
    fn describe(&self) -> Result<Description<'_>>;

    /// Its bytes: exactly as many as its description's dtype, shape and strides ask for, little-endian.
    fn host_bytes(&self) -> Result<HostBytes<'_>>;

    /// What the tensor is, and its bytes, which are read before any other code can reach the tensor: where that is cheaper than
    /// one after the other, or than bytes that are kept.
    #[inline]
    fn export(&self) -> Result<(Description<'_>, HostBytes<'_>)> {
        Ok((self.describe()?, self.host_bytes()?))
    }

    /// What and where a tensor of this crate's own is, for which the way through [`describe`](Self::describe) is long.
    #[doc(hidden)]
    #[inline(always)]
    fn at_hand(&self) -> Option<AtHand<'_>> {
        None
    }

    /// Where its bytes begin and end in memory, for the room that a message will need: where that is known sooner than a description.
    /// An empty range is that of one whose bytes do not matter.
    #[doc(hidden)]
    #[inline]
    fn weight(&self) -> Option<Range<usize>> {
        self.at_hand().as_ref().map(AtHand::range)
    }

    /// Makes a tensor of a type of this crate's own, which is [`HOST_ONLY`](Self::HOST_ONLY) and has a way shorter than [`import`](Self::import).
    #[doc(hidden)]
    #[inline(always)]
    fn arrive(plain: &Plain<'_>) -> Option<Result<Self>> {
        let _ = plain;
        None
    }

    /// Makes a tensor on [`Import::device`].
    fn import(import: Import<'_>) -> Result<Imported<Self>>;

    /// Whether the device is there. Asked only when a tensor is to land on it; never for the CPU.
    fn is_available(device: Device) -> bool {
        device.is_cpu()
    }

    /// The devices that are there, for the error that says so.
    fn available() -> Vec<Device> {
        vec![Device::Cpu]
    }

    /// Why a device is not there, where more is known than that it is not.
    fn why_missing(device: Device) -> Option<String> {
        let _ = device;
        None
    }

    /// Whether tensors of the type can be made of this memory, without a copy: the type's [`import`](Self::import) then asks for
    /// [`Import::memory`]. Other types get a copy.
    fn shares(memory: &dyn Memory) -> bool {
        let _ = memory;
        false
    }

    /// Something that keeps the tensor's storage from being freed, and its place from being used for another tensor.
    ///
    /// A single-pass writer ties tensors of one storage to one segment only if they return it. It asks for it above the inline limit.
    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        None
    }
}

/// The devices of a type, for the rules.
pub(crate) struct DevicesOf<T>(std::marker::PhantomData<T>);

impl<T> DevicesOf<T> {
    pub(crate) const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: TensorBackend> Present for DevicesOf<T> {
    fn host_only(&self) -> bool {
        T::HOST_ONLY
    }

    fn is_available(&self, device: Device) -> bool {
        device.is_cpu() || T::is_available(device)
    }

    fn available(&self) -> Vec<Device> {
        T::available()
    }

    fn why_missing(&self, device: Device) -> Option<String> {
        T::why_missing(device)
    }

    fn shares(&self, memory: &dyn Memory) -> bool {
        T::shares(memory)
    }
}

/// Lets types that implement [`TensorBackend`] stand in `#[tensor]` fields: implements `Serialize`, `Deserialize`,
/// [`TensorSerialize`](crate::TensorSerialize) and [`TensorDeserialize`](crate::TensorDeserialize) for them.
///
/// (A blanket implementation cannot do it beside those of `Box<T>` and other containers.)
#[macro_export]
macro_rules! impl_tensor {
    // Of a type of another crate's, which cannot be given serde's traits here.
    (@traits $tensor:ty) => {
        impl $crate::TensorSerialize for $tensor {
            const PRESENCE: $crate::Presence = $crate::Presence::Always;

            fn contains_tensor(&self) -> bool {
                true
            }

            fn serialize_tensors<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::__private::leaf::serialize(self, serializer)
            }

            fn visit_tensors<'a>(
                &'a self,
                visitor: &mut $crate::__private::TensorVisitor<'a, '_>,
            ) -> $crate::Result<()> {
                visitor.leaf(self)
            }
        }

        impl<'de> $crate::TensorDeserialize<'de> for $tensor {
            fn deserialize_tensors<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::__private::leaf::deserialize(deserializer)
            }
        }
    };
    ($($tensor:ty),+ $(,)?) => {$(
        impl $crate::__private::serde::Serialize for $tensor {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::__private::leaf::serialize(self, serializer)
            }
        }

        impl<'de> $crate::__private::serde::Deserialize<'de> for $tensor {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::__private::leaf::deserialize(deserializer)
            }
        }

        $crate::impl_tensor!(@traits $tensor);
    )+};
}
