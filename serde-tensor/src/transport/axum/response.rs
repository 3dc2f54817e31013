//! The response: a planned message, sent from where its tensors are.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use http_body::{Frame, SizeHint};

use super::{MEDIA_TYPE, Tensors};
use crate::TensorSerialize;
use crate::plan::{OwnedPlan, Plan};
use crate::wire::to_u64;

impl<T: TensorSerialize> IntoResponse for Tensors<T> {
    /// The message; or, for a value that cannot be encoded, 500 with the reason as text.
    fn into_response(self) -> Response {
        match Plan::new(&self.0).and_then(Plan::into_owned) {
            Ok(plan) => {
                let media_type = (CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
                ([media_type], Body::new(Segments::from(plan))).into_response()
            }
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }
}

/// A body of known length that hands over one segment after another.
struct Segments {
    left: u64,
    segments: vec::IntoIter<Bytes>,
}

impl From<OwnedPlan> for Segments {
    fn from(plan: OwnedPlan) -> Self {
        Self {
            left: to_u64(plan.len()),
            segments: plan.into_segments().into_iter(),
        }
    }
}

impl http_body::Body for Segments {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let segment = self.segments.next();
        self.left -= segment.as_ref().map_or(0, |segment| to_u64(segment.len()));
        Poll::Ready(segment.map(|segment| Ok(Frame::data(segment))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
