//! Why a request was refused.

use std::fmt;

use axum_core::response::{IntoResponse, Response};
use http::StatusCode;

use super::MEDIA_TYPE;
use crate::error::{Category, Error};

/// Why [`Tensors`](super::Tensors) refused a request; as a response, the [status](Self::status) and the reason as text.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The media type is not [`application/vnd.serde-tensor`](MEDIA_TYPE), but this, if there is one at all.
    MediaType(Option<String>),
    /// The body is longer than the limits allow.
    TooLong(Error),
    /// The body ended early, could not be read, is no message, or not one of the type. The error knows the path.
    Malformed(Error),
    /// A device is not there, or a tensor library failed.
    Failed(Error),
}

impl Refusal {
    /// 415, 413, 400 or 500, in the order of the variants.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// For an error of decoding a body that was read.
    pub(super) fn of_decoding(error: Error) -> Self {
        match error.category() {
            Category::Device | Category::Backend => Self::Failed(error),
            _ => Self::Malformed(error),
        }
    }

    /// For an error of reading a body.
    pub(super) fn of_reading(error: Error) -> Self {
        match error.category() {
            Category::Limit => Self::TooLong(error),
            _ => Self::Malformed(error),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MediaType(None) => write!(f, "the request has no Content-Type; {MEDIA_TYPE} is expected"),
            Self::MediaType(Some(found)) => write!(f, "the Content-Type is {found}; {MEDIA_TYPE} is expected"),
            Self::TooLong(error) | Self::Malformed(error) | Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::MediaType(_) => None,
            Self::TooLong(error) | Self::Malformed(error) | Self::Failed(error) => Some(error),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status(), self.to_string()).into_response()
    }
}
