//! What each marked field brings along.

use proc_macro2::TokenStream;
use quote::quote;

use crate::direction::Direction;
use crate::model::{Container, Field};
use crate::parse::FieldMark;

/// The static cell of each marked field, and the adapter that the mirror names in `serialize_with`:
///
/// ```text
/// static __SITE0: __tensor::Site =
///     __tensor::Site::new("Rollout", "rewards", __tensor::FieldDevice::KeepCpu);
///
/// struct __Field0;
/// impl __Field0 {
///     fn serialize<__T: TensorSerialize + ?Sized, __S: Serializer>(value: &__T, serializer: __S)
///         -> Result<__S::Ok, __S::Error>
///     {
///         __tensor::serialize_field(&__SITE0, value, serializer)
///     }
/// }
/// ```
pub(crate) fn expand(container: &Container<'_>) -> TokenStream {
    if container.converts() {
        return TokenStream::new();
    }
    let fields = container.fields();
    fields.into_iter().map(|field| expand_field(container, field)).collect()
}

fn expand_field(container: &Container<'_>, field: &Field) -> TokenStream {
    let FieldMark::Tensor(device) = field.mark else {
        return TokenStream::new();
    };
    if field.skipped {
        return TokenStream::new();
    }
    let krate = container.krate();
    let device = device.expression(&quote!(__tensor));
    let (site, adapter) = (field.site(), field.adapter());
    let (owner, name) = (&field.owner, field.name());
    let function = match container.direction {
        Direction::Serialize => quote! {
            fn serialize<__T, __S>(
                value: &__T,
                serializer: __S,
            ) -> __tensor::core::result::Result<__S::Ok, __S::Error>
            where
                __T: #krate::TensorSerialize + ?__tensor::core::marker::Sized,
                __S: __tensor::serde::Serializer,
            {
                __tensor::serialize_field(&#site, value, serializer)
            }
        },
        Direction::Deserialize => quote! {
            fn deserialize<'de, __T, __D>(
                deserializer: __D,
            ) -> __tensor::core::result::Result<__T, __D::Error>
            where
                __T: #krate::TensorDeserialize<'de>,
                __D: __tensor::serde::Deserializer<'de>,
            {
                __tensor::deserialize_field(&#site, deserializer)
            }
        },
    };
    quote! {
        static #site: __tensor::Site = __tensor::Site::new(#owner, #name, #device);
        struct #adapter;
        impl #adapter {
            #function
        }
    }
}
