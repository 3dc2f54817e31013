//! Whatever is like a tensor when it is written: a backend's tensor, a view, a slice of elements.

use std::any::{type_name, type_name_of_val};

use crate::backend::{AtHand, Description, HostBytes, KeepAlive, TensorBackend};
use crate::call::encode::Key;
use crate::error::Result;
use crate::tensor::Element;

/// The sending half of a tensor, as an object.
pub(crate) trait Source {
    fn describe(&self) -> Result<Description<'_>>;
    fn host_bytes(&self) -> Result<HostBytes<'_>>;
    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>>;

    /// Both of the first, for bytes that are read at once.
    #[inline]
    fn export(&self) -> Result<(Description<'_>, HostBytes<'_>)> {
        Ok((self.describe()?, self.host_bytes()?))
    }

    /// A tensor of the host's, row-major and without a gradient, where no call to its backend is needed to know it.
    #[inline(always)]
    fn at_hand(&self) -> Option<AtHand<'_>> {
        None
    }

    /// Which value this is.
    fn key(&self) -> Key {
        Key {
            address: std::ptr::from_ref(self).cast::<u8>().addr(),
            size: size_of_val(self),
            type_name: type_name_of_val(self),
        }
    }
}

/// A tensor of a backend.
#[derive(Clone, Copy)]
pub(crate) struct Backend<'a, T>(pub(crate) &'a T);

impl<T: TensorBackend> Source for Backend<'_, T> {
    #[inline]
    fn describe(&self) -> Result<Description<'_>> {
        self.0.describe()
    }

    #[inline]
    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        self.0.host_bytes()
    }

    #[inline]
    fn export(&self) -> Result<(Description<'_>, HostBytes<'_>)> {
        self.0.export()
    }

    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        self.0.keep_alive()
    }

    #[inline(always)]
    fn at_hand(&self) -> Option<AtHand<'_>> {
        self.0.at_hand()
    }

    #[inline]
    fn key(&self) -> Key {
        Key {
            address: std::ptr::from_ref(self.0).addr(),
            size: size_of::<T>(),
            type_name: type_name::<T>(),
        }
    }
}

/// Elements in a row, which travel as a tensor of one dim.
#[derive(Clone, Copy)]
pub(crate) struct Slice<'a, E>(pub(crate) &'a [E]);

impl<E: Element> Source for Slice<'_, E> {
    #[inline]
    fn describe(&self) -> Result<Description<'_>> {
        // No storage: vectors do not share their memory on arrival, so they are not tied on the way.
        Ok(Description::new(E::DTYPE, &[self.0.len()]))
    }

    #[inline]
    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        Ok(HostBytes::elements(self.0))
    }

    // A vector's memory can be freed behind its last use, and nothing here owns it.
    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        None
    }

    #[inline]
    fn key(&self) -> Key {
        Key {
            address: self.0.as_ptr().addr(),
            size: size_of_val(self.0),
            type_name: type_name::<[E]>(),
        }
    }
}
