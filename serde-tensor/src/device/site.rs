//! A derived field's static cell: its name, its device attribute, and what was already warned of.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{Device, FieldDevice, WarnOnce};

/// One `#[tensor]` field of a derived type; the derive makes a `static` of it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Site {
    type_name: &'static str,
    field: &'static str,
    device: FieldDevice,
    fallbacks: Mutex<WarnOnce<(Device, Device)>>,
    copies: Mutex<WarnOnce<Device>>,
}

impl Site {
    /// The field `field` of the type `type_name`, with its `device` attribute.
    pub const fn new(type_name: &'static str, field: &'static str, device: FieldDevice) -> Self {
        Self {
            type_name,
            field,
            device,
            fallbacks: Mutex::new(WarnOnce::new()),
            copies: Mutex::new(WarnOnce::new()),
        }
    }

    /// The field's `device` attribute.
    pub const fn device(&self) -> FieldDevice {
        self.device
    }

    /// Whether a tensor of this field, bound for `from`, lands on `to` for the first time in this process.
    pub(crate) fn first_fallback(&self, from: Device, to: Device) -> bool {
        // A panic elsewhere does not make the set wrong.
        self.fallbacks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .first((from, to))
    }

    /// Whether a tensor of this field is copied off `device` for the first time in this process.
    pub(crate) fn first_copy(&self, device: Device) -> bool {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner).first(device)
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.type_name, self.field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static REWARDS: Site = Site::new("Rollout", "rewards", FieldDevice::KeepCpu);

    #[test]
    fn it_names_its_field() {
        assert_eq!(REWARDS.to_string(), "Rollout.rewards");
        assert_eq!(REWARDS.device(), FieldDevice::KeepCpu);
    }

    #[test]
    fn it_warns_once_a_pair_from_all_threads_together() {
        let first = |index| REWARDS.first_fallback(Device::Cuda(index), Device::Cpu);
        let warned: usize = std::thread::scope(|threads| {
            let handles: Vec<_> = (0..4)
                .map(|_| threads.spawn(|| usize::from(first(0)) + usize::from(first(1))))
                .collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).sum()
        });
        assert_eq!(warned, 2);
    }

    #[test]
    fn the_two_directions_are_counted_apart() {
        static SITE: Site = Site::new("T", "x", FieldDevice::Auto);
        assert!(SITE.first_copy(Device::Cuda(0)));
        assert!(!SITE.first_copy(Device::Cuda(0)));
        assert!(SITE.first_fallback(Device::Cuda(0), Device::Cpu));
    }
}
