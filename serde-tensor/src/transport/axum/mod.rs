//! Tensors in the requests and responses of axum's handlers, with feature `axum`.
//!
//! [`Tensors<T>`] is an extractor and a response, as `Json<T>` is. The body is one message, of the media type
//! [`application/vnd.serde-tensor`](MEDIA_TYPE).
//!
//! ```
//! use axum::Router;
//! use axum::routing::post;
//! use serde_tensor::axum::Tensors;
//! use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};
//!
//! #[derive(TensorDeserialize)]
//! struct Batch {
//!     #[tensor]
//!     images: Tensor,
//! }
//!
//! #[derive(TensorSerialize)]
//! struct Logits {
//!     #[tensor]
//!     logits: Tensor,
//! }
//!
//! async fn classify(Tensors(batch): Tensors<Batch>) -> Tensors<Logits> {
//!     // … here it is only handed back.
//!     Tensors(Logits { logits: batch.images })
//! }
//!
//! let router: Router = Router::new().route("/classify", post(classify));
//! ```
//!
//! A request's body is read into the buffer that its tensors then share. A response's is sent from where its tensors are; those of libtorch and other
//! devices are copied to the host first.
//!
//! # Where tensors land, and how long a request may be
//!
//! A router whose state has an [`Arrival`] (through axum's `FromRef`) says both; one without a state has the defaults.
//! axum's own `DefaultBodyLimit` holds too, and is 2 MB unless the router sets another.
//!
//! # What is refused
//!
//! | request | answer, with the reason as its text |
//! |---|---|
//! | no, or another, media type | 415 |
//! | longer than [`Limits::message`](crate::Limits::message), or than `DefaultBodyLimit` or a layer allows | 413 |
//! | truncated, malformed, or not of the type: with the path of the part at fault | 400 |
//! | a device or a tensor library that fails | 500 |

mod arrival;
mod body;
mod refusal;
mod request;
mod response;

pub use arrival::Arrival;
pub use refusal::Refusal;

/// `application/vnd.serde-tensor`: one message, plain or a frame.
pub const MEDIA_TYPE: &str = "application/vnd.serde-tensor";

/// A value with tensors, in a request or a response. See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tensors<T>(pub T);
