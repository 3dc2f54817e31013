//! The two settings that all threads share: the default device and the routing switch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use super::Device;

static ROUTING: AtomicBool = AtomicBool::new(true);
static DEFAULT: RwLock<Option<Device>> = RwLock::new(None);
/// Whether `DEFAULT` holds a device: most processes set none, and then each tensor costs one load, not a lock.
static HAS_DEFAULT: AtomicBool = AtomicBool::new(false);

/// Sets the device on which tensors land when no call, attribute, pin or guard says otherwise.
///
/// It holds for all threads of the process, from the next tensor on; `None` takes it back.
///
/// # Examples
///
/// ```
/// use serde_tensor::{Device, device};
///
/// device::set_default_device(Some(Device::Cuda(0)));
/// assert_eq!(device::current(), Some(Device::Cuda(0)));
/// # device::set_default_device(None);
/// ```
pub fn set_default_device(device: Option<Device>) {
    let mut slot = DEFAULT.write().unwrap_or_else(PoisonError::into_inner);
    *slot = device;
    HAS_DEFAULT.store(device.is_some(), Ordering::Release);
}

/// The device set by [`set_default_device`].
pub fn default_device() -> Option<Device> {
    if !HAS_DEFAULT.load(Ordering::Acquire) {
        return None;
    }
    *DEFAULT.read().unwrap_or_else(PoisonError::into_inner)
}

/// Switches routing on or off for the whole process; it is on at first.
///
/// While it is off, each tensor goes to the device where it was when it was encoded, whatever calls, attributes, pins
/// and guards say. [`DeviceGuard::disable`](super::DeviceGuard::disable) does this for a scope.
///
/// # Examples
///
/// ```
/// use serde_tensor::{Device, DeviceGuard, device};
///
/// let _guard = DeviceGuard::enter(Device::Cuda(0));
/// device::set_global_routing(false);
/// assert_eq!(device::current(), None);
/// # device::set_global_routing(true);
/// ```
pub fn set_global_routing(on: bool) {
    ROUTING.store(on, Ordering::Release);
}

/// Whether routing is on for the process, as [`set_global_routing`] left it.
pub fn global_routing() -> bool {
    ROUTING.load(Ordering::Acquire)
}
