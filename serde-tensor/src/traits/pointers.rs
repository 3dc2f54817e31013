//! Pointers and cells around a value: they add nothing to it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};

use serde::ser::Error;
use serde::{Deserializer, Serializer};

use super::deserialize::TensorDeserialize;
use super::levels::levels;
use super::presence::{Facts, Presence};
use super::serialize::{TensorSerialize, contains_tensor};
use crate::leaf::TensorVisitor;

/// Everything that dereferences to what it holds.
macro_rules! pointers {
    ($([$($generics:tt)*] $pointer:ty => $inner:ty;)*) => {$(
        impl<$($generics)*> TensorSerialize for $pointer {
            levels!($inner => );

            fn contains_tensor(&self) -> bool {
                contains_tensor::<$inner>(self)
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$inner>::serialize_tensors(self, serializer)
            }

            fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                <$inner>::visit_tensors(self, visitor)
            }
        }
    )*};
}

pointers! {
    [T: TensorSerialize + ?Sized] &T => T;
    [T: TensorSerialize + ?Sized] &mut T => T;
    [T: TensorSerialize + ?Sized] Box<T> => T;
    [T: TensorSerialize + ?Sized] Rc<T> => T;
    [T: TensorSerialize + ?Sized] Arc<T> => T;
    [T: TensorSerialize + ToOwned + ?Sized] Cow<'_, T> => T;
}

/// Owning pointers, from a value, a row or a string.
macro_rules! owning {
    ($($pointer:ident)*) => {$(
        impl<'de, T: TensorDeserialize<'de>> TensorDeserialize<'de> for $pointer<T> {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                T::deserialize_tensors(deserializer).map(Self::new)
            }
        }

        impl<'de, T: TensorDeserialize<'de>> TensorDeserialize<'de> for $pointer<[T]> {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                T::deserialize_row(deserializer).map(Self::from)
            }
        }

        impl<'de> TensorDeserialize<'de> for $pointer<str> {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize_tensors(deserializer).map(Self::from)
            }
        }
    )*};
}

owning!(Box Rc Arc);

impl<'de, T> TensorDeserialize<'de> for Cow<'_, T>
where
    T: ToOwned<Owned: TensorDeserialize<'de>> + ?Sized,
{
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::Owned::deserialize_tensors(deserializer).map(Self::Owned)
    }
}

impl<T: TensorSerialize + Copy> TensorSerialize for Cell<T> {
    levels!(T => );

    fn contains_tensor(&self) -> bool {
        contains_tensor(&self.get())
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize_tensors(serializer)
    }

    /// Nothing: what is inside can be replaced meanwhile, so it cannot be borrowed.
    fn visit_tensors<'a>(&'a self, _: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
        Ok(())
    }
}

/// Cells that are opened for as long as they are read.
macro_rules! guarded {
    ($($cell:ident . $open:ident, $message:literal;)*) => {$(
        impl<T: TensorSerialize + ?Sized> TensorSerialize for $cell<T> {
            levels!(T => );

            fn contains_tensor(&self) -> bool {
                self.$open().is_ok_and(|value| contains_tensor::<T>(&value))
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.$open() {
                    Ok(value) => value.serialize_tensors(serializer),
                    Err(_) => Err(S::Error::custom($message)),
                }
            }

            /// Nothing: what is inside can change meanwhile, so it cannot be borrowed.
            fn visit_tensors<'a>(&'a self, _: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                Ok(())
            }
        }
    )*};
}

guarded! {
    RefCell.try_borrow, "already mutably borrowed";
    Mutex.lock, "lock poison error while serializing";
    RwLock.read, "lock poison error while serializing";
}

macro_rules! cells {
    ($($cell:ident)*) => {$(
        impl<'de, T: TensorDeserialize<'de>> TensorDeserialize<'de> for $cell<T> {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                T::deserialize_tensors(deserializer).map(Self::new)
            }
        }
    )*};
}

cells!(Cell RefCell Mutex RwLock);
