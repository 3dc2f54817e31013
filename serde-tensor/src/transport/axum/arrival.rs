//! What a router's state says about requests.

use axum_core::extract::FromRef;

use crate::decoder::Decoder;
use crate::device::Device;

/// How the [`Tensors`](super::Tensors) of a router's requests are decoded; a part of its state.
///
/// ```
/// use axum::Router;
/// use axum::extract::FromRef;
/// use axum::routing::post;
/// use serde_tensor::axum::{Arrival, Tensors};
/// use serde_tensor::{Decoder, Device, Limits};
///
/// #[derive(Clone)]
/// struct Service {
///     arrival: Arrival,
///     // … and a model
/// }
///
/// impl FromRef<Service> for Arrival {
///     fn from_ref(service: &Service) -> Self {
///         service.arrival.clone()
///     }
/// }
///
/// let arrival = Arrival::new()
///     .device(Device::Cuda(0))
///     .decoder(Decoder::new().limits(Limits::new().message(64 << 20)));
/// let router: Router = Router::new()
///     .route("/double", post(async |Tensors(x): Tensors<f32>| Tensors(2.0 * x)))
///     .with_state(Service { arrival });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Arrival {
    pub(super) decoder: Decoder,
    pub(super) device: Option<Device>,
}

impl Arrival {
    /// The default options, and no device: a tensor then goes where the process default or the message says.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes under a guard for this device.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Decodes with these options, [limits](Decoder::limits) among them.
    pub fn decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }
}

/// A router without a state has the defaults.
impl FromRef<()> for Arrival {
    fn from_ref((): &()) -> Self {
        Self::default()
    }
}
