//! The decision: which rule applies to a tensor, and on which device it lands.

use super::guard::Ambient;
use super::{Device, FieldDevice, OnMissing, Pin, Placement, Rule};
use crate::backend::Memory;
use crate::error::{Error, Result};

/// What a tensor, its field and its call say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// Where the tensor was when it was encoded.
    pub(crate) recorded: Device,
    /// What the sending type says.
    pub(crate) pin: Pin,
    /// The receiving field's attribute, or the nearest one around it.
    pub(crate) field: FieldDevice,
    pub(crate) placement: Placement,
    /// Pairs of (from, to); of several for one device the last holds, as with other options.
    pub(crate) device_map: &'a [(Device, Device)],
    pub(crate) on_missing: OnMissing,
}

/// The devices a tensor type can be on, in this process.
pub(crate) trait Present {
    /// Whether the type exists only in the host's memory.
    fn host_only(&self) -> bool;
    /// Whether `device` is there. Not asked for the CPU, which always is.
    fn is_available(&self, device: Device) -> bool;
    /// The devices that are there, for messages.
    fn available(&self) -> Vec<Device>;
    /// Why `device` is not there, if the type knows more than that.
    fn why_missing(&self, device: Device) -> Option<String>;
    /// Whether tensors of the type can be made of a library's memory.
    fn shares(&self, _: &dyn Memory) -> bool {
        false
    }
}

/// Where a tensor lands, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The device the rule chose, after the device map.
    pub(crate) wanted: Device,
    /// The device it lands on: `wanted`, or what stands in for it.
    pub(crate) device: Device,
    pub(crate) rule: Rule,
}

impl Decision {
    /// Whether the wanted device is not there and another stands in, which is to be warned of.
    pub(crate) fn is_fallback(&self) -> bool {
        self.wanted != self.device
    }
}

/// Decides where a tensor of a type that can be on the devices of `present` lands.
///
/// # Errors
///
/// `Category::Device` when the chosen device is not there and the call asked for an error.
#[inline]
pub(crate) fn decide(request: &Request<'_>, present: &impl Present) -> Result<Decision> {
    if present.host_only() {
        return Ok(Decision {
            wanted: Device::Cpu,
            device: Device::Cpu,
            rule: Rule::HostOnly,
        });
    }
    decide_under(request, present, Ambient::now())
}

/// Rules 1 to 7, with all that is set outside the call given.
fn decide_under(request: &Request<'_>, present: &dyn Present, ambient: Ambient) -> Result<Decision> {
    let (choice, rule) = choose(request, ambient);
    let wanted = match choice {
        // A tensor kept on the CPU stays there even when the call maps the CPU to another device.
        Choice::KeepCpu => Device::Cpu,
        Choice::On(device) => mapped(device, request.device_map),
    };
    let device = settle(wanted, rule, request.on_missing, present)?;
    Ok(Decision { wanted, device, rule })
}

enum Choice {
    KeepCpu,
    On(Device),
}

/// The first rule that applies, of 1 to 7.
fn choose(request: &Request<'_>, ambient: Ambient) -> (Choice, Rule) {
    let source = Choice::On(request.recorded);
    if ambient.routing_off {
        return (source, Rule::RoutingOff);
    }
    match request.placement {
        Placement::KeepCpu => return (Choice::KeepCpu, Rule::Placement),
        Placement::Source => return (source, Rule::Placement),
        Placement::On(device) => return (Choice::On(device), Rule::Placement),
        Placement::Auto => {}
    }
    match request.field {
        FieldDevice::KeepCpu => return (Choice::KeepCpu, Rule::Field),
        FieldDevice::Source => return (source, Rule::Field),
        FieldDevice::On(device) => return (Choice::On(device), Rule::Field),
        FieldDevice::Auto => {}
    }
    match request.pin {
        Pin::KeepCpu => return (Choice::KeepCpu, Rule::Pin),
        Pin::Source => return (source, Rule::Pin),
        Pin::None => {}
    }
    if let Some(device) = ambient.guard {
        return (Choice::On(device), Rule::Guard);
    }
    if let Some(device) = ambient.default {
        return (Choice::On(device), Rule::Default);
    }
    (source, Rule::Source)
}

/// One step through the map, so that a pair of devices can be exchanged.
fn mapped(device: Device, map: &[(Device, Device)]) -> Device {
    map.iter()
        .rfind(|(from, _)| *from == device)
        .map_or(device, |(_, to)| *to)
}

/// The wanted device if it is there, else what stands in for it.
fn settle(wanted: Device, rule: Rule, on_missing: OnMissing, present: &dyn Present) -> Result<Device> {
    let there = |device: Device| device.is_cpu() || present.is_available(device);
    if there(wanted) {
        return Ok(wanted);
    }
    match on_missing {
        OnMissing::Error => Err(missing(wanted, rule, present)),
        OnMissing::Fallback => {
            let first = wanted.with_index(0);
            Ok(if first != wanted && there(first) {
                first
            } else {
                Device::Cpu
            })
        }
    }
}

/// The error names the device and what there is; the caller adds field and path.
#[cold]
fn missing(wanted: Device, rule: Rule, present: &dyn Present) -> Error {
    let mut available = present.available();
    available.push(Device::Cpu);
    available.sort_unstable();
    available.dedup();
    let available: Vec<String> = available.iter().map(Device::to_string).collect();
    let mut message = format!(
        "device {wanted}, chosen by {rule}, is not there; available: {}",
        available.join(", ")
    );
    if let Some(reason) = present.why_missing(wanted) {
        message.push_str(" (");
        message.push_str(&reason);
        message.push(')');
    }
    Error::device(message)
}

#[cfg(test)]
mod tests;
