//! Tensors in what serde buffers: flattened, untagged, tagged either way, content first too.
//!
//! Without these a tensor there could be lost, or be copied once or twice, and every value would still be equal.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_tensor::{Decoder, Encoder, Tensor, TensorDeserialize, TensorSerialize, TensorView, Transfer};

use crate::{assert_inside, both, placed, ramp};

/// The same shapes of value, holding tensors or views.
macro_rules! taggings {
    ($module:ident $tensor:ty $(, $a:lifetime)?) => {
        mod $module {
            use super::*;

            #[derive(TensorSerialize, TensorDeserialize)]
            pub(super) struct Leaf<$($a)?> {
                #[tensor]
                pub(super) x: $tensor,
            }

            #[derive(TensorSerialize, TensorDeserialize)]
            pub(super) struct Flat<$($a)?> {
                pub(super) n: u8,
                #[serde(flatten)]
                #[tensor]
                pub(super) leaf: Leaf<$($a)?>,
            }

            #[derive(TensorSerialize, TensorDeserialize)]
            #[serde(untagged)]
            pub(super) enum Untagged<$($a)?> {
                Number(u8),
                Text(String),
                Bare(#[tensor] $tensor),
                Struct { #[tensor] y: Option<$tensor> },
            }

            #[derive(TensorSerialize, TensorDeserialize)]
            #[serde(tag = "t")]
            pub(super) enum Internal<$($a)?> {
                Struct { #[tensor] y: Vec<$tensor> },
                Newtype(#[tensor] Leaf<$($a)?>),
            }

            #[derive(TensorSerialize, TensorDeserialize)]
            #[serde(tag = "t", content = "c")]
            pub(super) enum Adjacent<$($a)?> {
                Bare(#[tensor] $tensor),
                Struct { #[tensor] y: (u8, $tensor) },
            }

            /// One tensor in each place where serde buffers.
            #[derive(TensorSerialize, TensorDeserialize)]
            pub(super) struct All<$($a)?> {
                #[tensor]
                pub(super) flat: Flat<$($a)?>,
                #[tensor]
                pub(super) bare: Untagged<$($a)?>,
                #[tensor]
                pub(super) untagged: Untagged<$($a)?>,
                #[tensor]
                pub(super) internal: [Internal<$($a)?>; 2],
                #[tensor]
                pub(super) adjacent: BTreeMap<u8, Adjacent<$($a)?>>,
            }

            impl<$($a)?> All<$($a)?> {
                pub(super) fn of(x: &[$tensor]) -> Self {
                    Self {
                        flat: Flat { n: 1, leaf: Leaf { x: x[0].clone() } },
                        bare: Untagged::Bare(x[1].clone()),
                        untagged: Untagged::Struct { y: Some(x[2].clone()) },
                        internal: [
                            Internal::Struct { y: vec![x[3].clone()] },
                            Internal::Newtype(Leaf { x: x[4].clone() }),
                        ],
                        adjacent: BTreeMap::from([
                            (1, Adjacent::Bare(x[5].clone())),
                            (2, Adjacent::Struct { y: (9, x[6].clone()) }),
                        ]),
                    }
                }

                pub(super) fn tensors(&self) -> Vec<&$tensor> {
                    let Untagged::Bare(bare) = &self.bare else { panic!() };
                    let Untagged::Struct { y: Some(untagged) } = &self.untagged else { panic!() };
                    let [Internal::Struct { y }, Internal::Newtype(leaf)] = &self.internal else { panic!() };
                    let Adjacent::Bare(adjacent) = &self.adjacent[&1] else { panic!() };
                    let Adjacent::Struct { y: (9, last) } = &self.adjacent[&2] else { panic!() };
                    vec![&self.flat.leaf.x, bare, untagged, &y[0], &leaf.x, adjacent, last]
                }
            }
        }
    };
}

taggings!(tensors Tensor);
taggings!(views TensorView<'a>, 'a);

/// Different tensors, some small and some not.
fn seven() -> Vec<Tensor> {
    [3, 700, 4, 800, 900, 5, 1000].map(ramp).into()
}

#[test]
fn views_borrow_through_everything_that_serde_buffers() {
    let sent = seven();
    let sent: Vec<TensorView<'_>> = sent.iter().map(Tensor::view).collect();
    for message in both(&Encoder::new(), &views::All::of(&sent)) {
        let (read, report) = Decoder::new()
            .from_slice_with_report::<views::All<'_>>(&message)
            .unwrap();
        for (view, sent) in read.tensors().into_iter().zip(&sent) {
            assert_eq!(view, sent);
            assert_inside(&message, view.bytes());
        }
        assert_eq!(report.len(), 7);
        assert!(
            report.iter().all(|row| row.transfer() == Transfer::Borrowed),
            "{report}"
        );
        assert_eq!(read.flat.n, 1);
    }
}

#[test]
fn tensors_share_through_everything_that_serde_buffers() {
    for message in both(&Encoder::new(), &tensors::All::of(&seven())) {
        let message = placed(&message, 0);
        let (read, report) = Decoder::new()
            .from_bytes_with_report::<tensors::All>(message.clone())
            .unwrap();
        for (tensor, sent) in read.tensors().into_iter().zip(&seven()) {
            assert_eq!(tensor, sent);
            assert_inside(&message, tensor.bytes());
        }
        assert!(report.iter().all(|row| row.transfer() == Transfer::Shared), "{report}");
    }
}

#[test]
fn content_that_comes_before_its_tag_borrows_too() {
    #[derive(Serialize)]
    struct Swapped<C> {
        c: C,
        t: &'static str,
    }
    #[derive(Serialize)]
    struct Fields {
        y: (u8, Tensor),
    }
    for encoder in [Encoder::new(), Encoder::new().inline_limit(usize::MAX)] {
        let message = encoder
            .to_vec(&Swapped {
                c: ramp(2000),
                t: "Bare",
            })
            .unwrap();
        match serde_tensor::from_slice(&message).unwrap() {
            views::Adjacent::Bare(view) => {
                assert_eq!(view, ramp(2000));
                assert_inside(&message, view.bytes());
            }
            views::Adjacent::Struct { .. } => panic!(),
        }
        let message = encoder
            .to_vec(&Swapped {
                c: Fields { y: (1, ramp(2000)) },
                t: "Struct",
            })
            .unwrap();
        match serde_tensor::from_slice(&message).unwrap() {
            views::Adjacent::Struct { y: (1, view) } => {
                assert_eq!(view, ramp(2000));
                assert_inside(&message, view.bytes());
            }
            _ => panic!(),
        }
    }
    // An internal tag may come last as well.
    #[derive(Serialize)]
    struct TagLast {
        x: Tensor,
        t: &'static str,
    }
    let message = serde_tensor::to_vec(&TagLast {
        x: ramp(2000),
        t: "Newtype",
    })
    .unwrap();
    match serde_tensor::from_slice(&message).unwrap() {
        views::Internal::Newtype(leaf) => assert_inside(&message, leaf.x.bytes()),
        views::Internal::Struct { .. } => panic!(),
    }
}
