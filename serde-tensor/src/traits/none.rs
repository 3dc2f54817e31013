//! Types of the standard library that hold no tensor and that serde knows: strings, times, addresses, paths.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroU128, NonZeroUsize,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize,
};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deserialize::TensorDeserialize;
use super::presence::Presence;
use super::serialize::TensorSerialize;
use crate::leaf::TensorVisitor;

macro_rules! none {
    (serialize $([$($generics:tt)*] $type:ty)*) => {$(
        impl<$($generics)*> TensorSerialize for $type {
            const PRESENCE: Presence = Presence::Never;

            fn contains_tensor(&self) -> bool {
                false
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }

            fn visit_tensors<'a>(&'a self, _: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                Ok(())
            }
        }
    )*};
    (deserialize $([$($generics:tt)*] $type:ty)*) => {$(
        impl<'de, $($generics)*> TensorDeserialize<'de> for $type {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
    (both $($type:ty)*) => {
        none!(serialize $([] $type)*);
        none!(deserialize $([] $type)*);
    };
}

none! {both
    () char String CString OsString PathBuf
    i128 u128 isize usize
    NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize
    NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize
    AtomicBool AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize
    AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize
    Duration SystemTime
    IpAddr Ipv4Addr Ipv6Addr SocketAddr SocketAddrV4 SocketAddrV6
}

none!(serialize [] str [] CStr [] OsStr [] Path [] std::fmt::Arguments<'_> [T: ?Sized] PhantomData<T>);
none!(deserialize [T: ?Sized] PhantomData<T>);

impl<'de: 'a, 'a> TensorDeserialize<'de> for &'a str {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl<'de: 'a, 'a> TensorDeserialize<'de> for &'a Path {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}
