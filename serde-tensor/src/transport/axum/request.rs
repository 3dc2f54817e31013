//! The extractor.

use axum_core::extract::{FromRef, FromRequest, Request};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use super::{Arrival, MEDIA_TYPE, Refusal, Tensors, body};
use crate::device::DeviceGuard;

impl<S, T> FromRequest<S> for Tensors<T>
where
    S: Send + Sync,
    Arrival: FromRef<S>,
    T: DeserializeOwned,
{
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        check_media_type(request.headers())?;
        let Arrival { decoder, device } = Arrival::from_ref(state);
        let message = body::read(request, &decoder.options().limits).await;
        let message = message.map_err(Refusal::of_reading)?;
        let _guard = device.map(DeviceGuard::enter);
        let value = decoder.from_bytes(message).map_err(Refusal::of_decoding)?;
        Ok(Self(value))
    }
}

/// Parameters behind the media type are allowed, as in every media type.
fn check_media_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(found) = headers.get(CONTENT_TYPE) else {
        return Err(Refusal::MediaType(None));
    };
    let found = String::from_utf8_lossy(found.as_bytes());
    let essence = found.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(MEDIA_TYPE) {
        Ok(())
    } else {
        Err(Refusal::MediaType(Some(found.into_owned())))
    }
}
