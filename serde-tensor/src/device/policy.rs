//! What calls, fields and senders can say about a tensor's device.

use super::Device;

/// Where a call puts the tensors it decodes, before fields, pins and guards are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// The call says nothing: the field's attribute, the sender's pin, the guard and so on decide. The default.
    #[default]
    Auto,
    /// All tensors stay in the host's memory; a device map does not move them either.
    KeepCpu,
    /// Each tensor goes to the device where it was when it was encoded.
    Source,
    /// All tensors go to this device.
    On(Device),
}

/// What decoding does when the device chosen for a tensor is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnMissing {
    /// Takes the device of the same kind with index 0 if there is one, else the CPU, and warns once. The default.
    #[default]
    Fallback,
    /// Fails with an error of [`Category::Device`](crate::Category::Device) that names the field, the device and what
    /// is available.
    Error,
}

/// What encoding does with a tensor that is on a device, of which it must make a host copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceCopies {
    /// Copies it.
    Allow,
    /// Copies it and warns once, with path, device and bytes. The default.
    #[default]
    Warn,
    /// Fails with an error of [`Category::Device`](crate::Category::Device) that names the field and the device.
    Deny,
}

/// What a sending type says about one of its tensors; it travels with the tensor.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pin {
    #[default]
    None,
    KeepCpu,
    Source,
}

/// The value of `#[tensor(device = "…")]`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldDevice {
    #[default]
    Auto,
    KeepCpu,
    Source,
    On(Device),
}

impl FieldDevice {
    /// What the attribute says on a sending type: only `keep_cpu` and `source` travel.
    pub const fn pin(self) -> Pin {
        match self {
            Self::KeepCpu => Pin::KeepCpu,
            Self::Source => Pin::Source,
            Self::Auto | Self::On(_) => Pin::None,
        }
    }

    /// This attribute, or that of the field around it when this one says nothing.
    #[must_use]
    pub const fn or(self, outer: Self) -> Self {
        match self {
            Self::Auto => outer,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keep_cpu_and_source_become_a_pin() {
        assert_eq!(FieldDevice::KeepCpu.pin(), Pin::KeepCpu);
        assert_eq!(FieldDevice::Source.pin(), Pin::Source);
        assert_eq!(FieldDevice::Auto.pin(), Pin::None);
        assert_eq!(FieldDevice::On(Device::Cpu).pin(), Pin::None);
    }

    #[test]
    fn auto_means_what_the_outer_field_says() {
        let on = FieldDevice::On(Device::Cuda(1));
        assert_eq!(FieldDevice::Auto.or(on), on);
        assert_eq!(FieldDevice::KeepCpu.or(on), FieldDevice::KeepCpu);
        assert_eq!(FieldDevice::Auto.or(FieldDevice::Auto), FieldDevice::Auto);
    }
}
