//! What a type says, asked without knowing whether it implements [`TensorSerialize`].
//!
//! `Probe::<T>::I7` names the inherent constant where `T: TensorSerialize` is known, and else, with [`UnknownFacts`]
//! in scope, the trait's: an inherent item wins over a trait's whenever its bounds hold.

use std::marker::PhantomData;

use super::presence::Facts;
use super::serialize::{TensorSerialize, contains_tensor};
use crate::leaf::TensorVisitor;

/// Asks about `T`.
pub struct Probe<T: ?Sized>(PhantomData<T>);

macro_rules! probe {
    ($($level:ident)*) => {
        #[allow(missing_docs)]
        impl<T: TensorSerialize + ?Sized> Probe<T> {
            $(pub const $level: Facts = T::$level;)*

            pub fn contains(value: &T) -> bool {
                contains_tensor(value)
            }

            pub fn visit<'a>(value: &'a T, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                value.visit_tensors(visitor)
            }
        }

        /// Answers where the type says nothing.
        ///
        /// A marked field of such a type does not compile, for its adapter asks for the trait; answering here keeps
        /// that the only error.
        #[allow(missing_docs)]
        pub trait UnknownFacts {
            type Value: ?Sized;

            $(const $level: Facts = Facts::UNKNOWN;)*

            fn contains(_: &Self::Value) -> bool {
                false
            }

            fn visit<'a>(_: &'a Self::Value, _: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                Ok(())
            }
        }
    };
}

probe!(I8 I7 I6 I5 I4 I3 I2 I1 I0);

impl<T: ?Sized> UnknownFacts for Probe<T> {
    type Value = T;
}
