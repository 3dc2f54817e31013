//! The two warnings, as events of `tracing` with target `serde_tensor::device`; without that feature they are silent.
//!
//! Whether a warning is due is for the caller to know: once per process for each derived field ([`Site`]), elsewhere
//! once per call ([`WarnOnce`](super::WarnOnce)).

use super::{Device, Site};

/// A tensor bound for `wanted` lands on `device`, since `wanted` is not there; `why`, where the tensor type knows more.
#[cfg(feature = "tracing")]
pub(crate) fn fallback(
    path: Option<&str>,
    site: Option<&Site>,
    wanted: Device,
    device: Device,
    bytes: usize,
    why: Option<&str>,
) {
    tracing::warn!(
        target: "serde_tensor::device",
        path,
        field = site.map(tracing::field::display),
        wanted = %wanted,
        device = %device,
        bytes,
        why,
        "device {wanted} is not there, so the tensor lands on {device}"
    );
}

/// A tensor that is on `device` is copied to the host to be encoded.
#[cfg(feature = "tracing")]
pub(crate) fn device_copy(path: Option<&str>, site: Option<&Site>, device: Device, bytes: usize) {
    tracing::warn!(
        target: "serde_tensor::device",
        path,
        field = site.map(tracing::field::display),
        device = %device,
        bytes,
        "encoding copies a tensor from {device} to the host"
    );
}

/// There were more tensors whose device is not there.
#[cfg(feature = "tracing")]
pub(crate) fn more(count: usize) {
    tracing::warn!(
        target: "serde_tensor::device",
        count,
        "{count} more tensors of the message name other devices that are not there"
    );
}

/// Whether anybody listens; if not, the caller need not look for the path.
#[cfg(feature = "tracing")]
pub(crate) fn enabled() -> bool {
    tracing::enabled!(target: "serde_tensor::device", tracing::Level::WARN)
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn fallback(_: Option<&str>, _: Option<&Site>, _: Device, _: Device, _: usize, _: Option<&str>) {}

#[cfg(not(feature = "tracing"))]
pub(crate) fn device_copy(_: Option<&str>, _: Option<&Site>, _: Device, _: usize) {}

#[cfg(not(feature = "tracing"))]
pub(crate) fn enabled() -> bool {
    false
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn more(_: usize) {}
