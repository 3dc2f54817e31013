//! A device in text: `cpu`, `cuda:1`, `rocm:0`, `mps`, `vulkan`, `dl:12:0`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Device, dlpack};
use crate::error::{Error, Result};

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(index) => f.pad(&format!("cuda:{index}")),
            Self::Rocm(index) => f.pad(&format!("rocm:{index}")),
            Self::Mps => f.pad("mps"),
            Self::Vulkan => f.pad("vulkan"),
            Self::Other(other) => f.pad(&format!("dl:{}:{}", other.kind, other.index)),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    /// Reads what `Display` writes, and a kind with its index left out (`cuda`) or written in full (`cpu:0`).
    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            // The text may come from a message: its beginning says enough.
            let shown: String = text.chars().take(40).collect();
            Error::data(format!(
                "{shown:?} is not a device; expected cpu, cuda:0, rocm:0, mps, vulkan or dl:<type>:<index>"
            ))
        })
    }
}

fn parse(text: &str) -> Option<Device> {
    if let Some(pair) = text.strip_prefix("dl:") {
        let (kind, index) = pair.split_once(':')?;
        return Some(Device::from_dlpack(u8::try_from(number(kind)?).ok()?, number(index)?));
    }
    let (name, index) = match text.split_once(':') {
        Some((name, index)) => (name, number(index)?),
        None => (text, 0),
    };
    let kind = match name {
        "cpu" => dlpack::CPU,
        "cuda" => dlpack::CUDA,
        "rocm" => dlpack::ROCM,
        "mps" => dlpack::METAL,
        "vulkan" => dlpack::VULKAN,
        _ => return None,
    };
    Some(Device::from_dlpack(kind, index))
}

/// Digits only: `u64::from_str` alone would take a sign.
fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

impl Serialize for Device {
    /// A string in every format, so that a format's view of `is_human_readable` does not matter.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DeviceVisitor)
    }
}

struct DeviceVisitor;

impl de::Visitor<'_> for DeviceVisitor {
    type Value = Device;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a device such as \"cpu\" or \"cuda:0\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Device, E> {
        parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives() {
        for text in [
            "cpu",
            "cuda:0",
            "cuda:17",
            "rocm:2",
            "mps",
            "vulkan",
            "dl:12:0",
            "dl:1:4",
            "dl:255:18446744073709551615",
        ] {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_spellings_are_read() {
        for (text, device) in [
            ("cuda", Device::Cuda(0)),
            ("rocm", Device::Rocm(0)),
            ("cpu:0", Device::Cpu),
            ("mps:0", Device::Mps),
            ("vulkan:0", Device::Vulkan),
            ("dl:2:1", Device::Cuda(1)),
        ] {
            assert_eq!(text.parse::<Device>().unwrap(), device);
        }
    }

    #[test]
    fn anything_else_is_an_error_that_says_what_is_expected() {
        for text in [
            "",
            "CPU",
            "gpu",
            "cuda:",
            "cuda:-1",
            "cuda:+1",
            "cuda:1:1",
            "cuda 1",
            "dl:",
            "dl:1",
            "dl:256:0",
            "dl:1:",
            "cuda:18446744073709551616",
        ] {
            let message = text.parse::<Device>().unwrap_err().to_string();
            assert!(message.contains("cuda:0"), "{text}: {message}");
        }
        let long = "x".repeat(1 << 16);
        assert!(long.parse::<Device>().unwrap_err().to_string().len() < 200);
    }

    #[test]
    fn it_is_a_string_to_serde() {
        assert_eq!(serde_json::to_string(&Device::Cuda(1)).unwrap(), "\"cuda:1\"");
        assert_eq!(serde_json::from_str::<Device>("\"cuda\"").unwrap(), Device::Cuda(0));
        assert!(
            serde_json::from_str::<Device>("\"gpu\"")
                .unwrap_err()
                .to_string()
                .contains("gpu")
        );
    }

    #[test]
    fn padding_applies_to_the_whole() {
        assert_eq!(
            format!("{:>8}|{:<8}|", Device::Cuda(1), Device::Cpu),
            "  cuda:1|cpu     |"
        );
    }
}
