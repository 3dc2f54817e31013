//! The derive's output compiles whatever names are in scope.

mod without_prelude {
    #![no_implicit_prelude]

    #[derive(::serde_tensor::TensorSerialize, ::serde_tensor::TensorDeserialize)]
    pub(super) struct Named<'a, T> {
        #[tensor(device = "cuda:1")]
        pub(super) tensor: T,
        #[tensor]
        pub(super) view: ::std::option::Option<::serde_tensor::TensorView<'a>>,
        #[serde(default, skip_serializing_if = "::std::string::String::is_empty")]
        pub(super) text: ::std::string::String,
    }

    #[derive(::serde_tensor::TensorSerialize, ::serde_tensor::TensorDeserialize)]
    #[serde(untagged)]
    pub(super) enum Choice {
        One(#[tensor(device = "source")] ::serde_tensor::Tensor),
        Two { flag: ::std::primitive::bool },
    }
}

mod shadowed {
    #![allow(
        dead_code,
        non_camel_case_types,
        unused_macros,
        reason = "the names only have to be in scope, and some are those of primitives"
    )]

    use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

    // What the prelude and the crates are usually called, and what the derive itself might call something.
    pub(super) struct Result;
    pub(super) struct Vec;
    pub(super) struct String;
    pub(super) struct Box;
    pub(super) struct Some;
    pub(super) struct None;
    pub(super) struct Ok;
    pub(super) struct Err;
    pub(super) struct Default;
    pub(super) struct Presence;
    pub(super) struct Facts;
    pub(super) struct Site;
    pub(super) struct bool;
    pub(super) trait Sized {}
    mod serde {}
    mod core {}
    mod std {}
    macro_rules! assert {
        () => {};
    }

    /// A user's own `Option`, marked.
    #[derive(TensorSerialize, TensorDeserialize)]
    pub(super) struct Option {
        #[tensor]
        pub(super) inner: Tensor,
    }

    #[derive(TensorSerialize, TensorDeserialize)]
    pub(super) struct Outer {
        #[tensor]
        pub(super) option: Option,
        pub(super) number: u8,
    }

    impl Option {
        const I8: u8 = 0;
        const PRESENCE: u8 = 0;
        fn serialize(&self) {}
        fn contains_tensor() {}
    }
}

mod renamed {
    pub(super) mod deep {
        pub(crate) use serde_tensor as our_name;
    }

    #[derive(deep::our_name::TensorSerialize, deep::our_name::TensorDeserialize)]
    #[tensor(crate = "deep::our_name")]
    pub(super) struct Renamed {
        #[tensor]
        pub(super) tensor: deep::our_name::Tensor,
    }
}

mod raw {
    use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

    #[derive(TensorSerialize, TensorDeserialize)]
    #[allow(non_camel_case_types)]
    pub(super) struct r#struct {
        #[tensor]
        pub(super) r#type: Tensor,
    }

    #[derive(TensorSerialize, TensorDeserialize)]
    #[allow(non_camel_case_types)]
    pub(super) enum r#enum {
        r#fn {
            #[tensor]
            r#loop: Tensor,
        },
    }
}

mod made_by_a_macro {
    use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

    macro_rules! make {
        ($name:ident, $field:ident: $ty:ty, $device:literal) => {
            #[derive(TensorSerialize, TensorDeserialize)]
            pub(super) struct $name {
                #[tensor(device = $device)]
                pub(super) $field: $ty,
                pub(super) plain: $crate::hygiene::made_by_a_macro::Plain,
            }
        };
    }

    #[derive(serde::Serialize, serde::Deserialize)]
    pub(super) struct Plain;

    make!(Made, tensor: Option<Tensor>, "keep_cpu");
}

use crate::tensor;

#[test]
fn without_a_prelude() {
    let value = without_prelude::Named {
        tensor: tensor(1),
        view: None,
        text: String::new(),
    };
    let json = serde_json::to_value(&value).unwrap();
    let bytes = serde_tensor::to_vec(&value).unwrap();
    let back: without_prelude::Named<'_, serde_tensor::Tensor> = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(back.tensor, value.tensor);
    assert!(back.view.is_none() && back.text.is_empty() && json.get("text").is_none());
    let choice = without_prelude::Choice::One(tensor(1));
    let bytes = serde_tensor::to_vec(&choice).unwrap();
    match serde_tensor::from_slice(&bytes).unwrap() {
        without_prelude::Choice::One(back) => assert_eq!(back, tensor(1)),
        without_prelude::Choice::Two { flag } => panic!("{flag}"),
    }
}

#[test]
fn among_names_of_the_users() {
    let value = shadowed::Outer {
        option: shadowed::Option { inner: tensor(1) },
        number: 3,
    };
    let back: shadowed::Outer = serde_tensor::from_slice(&serde_tensor::to_vec(&value).unwrap()).unwrap();
    assert_eq!((back.option.inner, back.number), (tensor(1), 3));
}

#[test]
fn under_another_name_of_the_crate() {
    let value = renamed::Renamed { tensor: tensor(1) };
    let back: renamed::Renamed = serde_tensor::from_slice(&serde_tensor::to_vec(&value).unwrap()).unwrap();
    assert_eq!(back.tensor, tensor(1));
}

#[test]
fn with_raw_identifiers() {
    let json = serde_json::to_value(raw::r#struct { r#type: tensor(1) }).unwrap();
    assert!(json.get("type").is_some(), "{json}");
    let json = serde_json::to_value(raw::r#enum::r#fn { r#loop: tensor(1) }).unwrap();
    assert!(json["fn"].get("loop").is_some(), "{json}");
    let back: raw::r#enum = serde_json::from_value(json).unwrap();
    let raw::r#enum::r#fn { r#loop } = back;
    assert_eq!(r#loop, tensor(1));
}

#[test]
fn inside_a_macro() {
    let value = made_by_a_macro::Made {
        tensor: Some(tensor(1)),
        plain: made_by_a_macro::Plain,
    };
    let back: made_by_a_macro::Made = serde_tensor::from_slice(&serde_tensor::to_vec(&value).unwrap()).unwrap();
    assert_eq!(back.tensor, value.tensor);
}

#[test]
fn inside_a_function_and_with_private_fields() {
    mod private {
        use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

        #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
        pub(super) struct Private {
            #[tensor]
            tensor: Tensor,
        }

        impl Private {
            pub(super) fn new(tensor: Tensor) -> Self {
                Self { tensor }
            }
        }
    }
    crate::round_trips(&private::Private::new(tensor(1)));
}

#[test]
fn packed_types() {
    use serde_tensor::{TensorDeserialize, TensorSerialize};

    #[derive(TensorSerialize, TensorDeserialize, Clone, Copy, Debug, PartialEq)]
    #[repr(C, packed)]
    struct Packed {
        id: u8,
        #[tensor]
        samples: [f32; 3],
    }
    crate::round_trips(&Packed {
        id: 1,
        samples: [1.0, 2.0, 3.0],
    });
}
