//! Lifetimes: what is borrowed from the message, and what is not.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, TensorView};

use crate::tensor;

#[derive(TensorSerialize, TensorDeserialize, Debug)]
struct Views<'a, 'b> {
    #[tensor]
    view: TensorView<'a>,
    #[tensor]
    views: Vec<Option<TensorView<'a>>>,
    name: &'a str,
    #[serde(borrow)]
    text: Cow<'b, str>,
    #[tensor]
    marked_text: &'b str,
}

#[test]
fn views_and_text_borrow_from_the_message() {
    let (one, two) = (tensor(1), tensor(2));
    let value = Views {
        view: one.view(),
        views: vec![Some(two.view()), None],
        name: "name",
        text: Cow::Borrowed("text"),
        marked_text: "marked",
    };
    let bytes = serde_tensor::to_vec(&value).unwrap();
    let back: Views<'_, '_> = serde_tensor::from_slice(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&back.view.bytes().as_ptr()));
    assert!(bytes.as_ptr_range().contains(&back.name.as_ptr()));
    assert!(matches!(back.text, Cow::Borrowed("text")));
    assert_eq!(back.view, one);
    assert_eq!(back.marked_text, "marked");
}

#[derive(TensorSerialize, TensorDeserialize)]
#[serde(tag = "t")]
enum Tagged<'a> {
    View {
        #[tensor]
        view: TensorView<'a>,
    },
    #[serde(borrow)]
    Text(&'a str),
}

#[test]
fn a_borrow_on_a_variant_stays_there() {
    let tensor = tensor(1);
    let bytes = serde_tensor::to_vec(&Tagged::View { view: tensor.view() }).unwrap();
    match serde_tensor::from_slice::<Tagged<'_>>(&bytes).unwrap() {
        Tagged::View { view } => assert_eq!(view, tensor),
        Tagged::Text(text) => panic!("{text}"),
    }
}

/// A lifetime that serde would not borrow for does not bind the message either.
#[derive(TensorSerialize, TensorDeserialize, Debug)]
struct Owned<'a> {
    #[tensor]
    tensor: Tensor,
    text: Cow<'a, str>,
}

#[test]
fn a_type_that_borrows_nothing_stays_deserialize_owned() {
    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> T {
        serde_tensor::from_slice(bytes).unwrap()
    }
    let back: Owned<'static> = {
        let bytes = serde_tensor::to_vec(&Owned {
            tensor: tensor(1),
            text: "text".into(),
        })
        .unwrap();
        decode(&bytes)
    };
    assert_eq!(back.tensor, tensor(1));
    assert_eq!(back.text, "text");
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Forever {
    name: &'static str,
    #[tensor]
    tensor: Option<Tensor>,
}

#[test]
fn what_borrows_forever_is_decoded_from_what_lives_forever() {
    let message: &'static str = r#"{"name":"forever"}"#;
    let value: Forever = serde_json::from_str(message).unwrap();
    assert_eq!((value.name, value.tensor), ("forever", None));
}
