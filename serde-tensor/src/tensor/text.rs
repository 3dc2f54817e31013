//! A dtype in text: `f32`, `f8_e4m3fn`, `dl:9/8`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::dtype::DType;
use crate::error::{Error, Result};

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("dl:{}/{}", self.code(), self.bits())),
        }
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            // The text may come from a message: its beginning says enough.
            let shown: String = text.chars().take(40).collect();
            Error::data(format!(
                "{shown:?} is not a dtype; expected a name such as f32 or dl:<code>/<bits>"
            ))
        })
    }
}

fn parse(text: &str) -> Option<DType> {
    let Some(pair) = text.strip_prefix("dl:") else {
        return DType::from_name(text);
    };
    let (code, bits) = pair.split_once('/')?;
    DType::from_dlpack(number(code)?, number(bits)?)
}

/// Digits only: `u8::from_str` alone would take a sign.
fn number(digits: &str) -> Option<u8> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

impl Serialize for DType {
    /// A string in every format, so that a format's view of `is_human_readable` does not matter.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DTypeVisitor)
    }
}

struct DTypeVisitor;

impl de::Visitor<'_> for DTypeVisitor {
    type Value = DType;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dtype such as \"f32\" or \"dl:9/8\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<DType, E> {
        parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for &dtype in DType::NAMED {
            assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
            let json = serde_json::to_string(&dtype).unwrap();
            assert_eq!(json, format!("\"{dtype}\""));
            assert_eq!(serde_json::from_str::<DType>(&json).unwrap(), dtype);
        }
    }

    #[test]
    fn every_pair_can_be_spelled() {
        for (code, bits) in [(9, 8), (2, 32), (0, 1), (255, 255)] {
            let dtype = DType::from_dlpack(code, bits).unwrap();
            assert_eq!(format!("dl:{code}/{bits}").parse::<DType>().unwrap(), dtype);
            assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for name in [
            "", "F32", "float32", "f32 ", "dl:", "dl:9", "dl:9/", "dl:/8", "dl:9/0", "dl:+9/8", "dl:9/256", "dl:9/8/1",
            "dl: 9/8",
        ] {
            assert!(name.parse::<DType>().is_err(), "{name:?}");
            assert!(serde_json::from_str::<DType>(&format!("{name:?}")).is_err());
        }
    }

    #[test]
    fn text_is_padded() {
        let unnamed = DType::from_dlpack(9, 8).unwrap();
        assert_eq!(format!("{:>5}|{unnamed:<8}|", DType::F32), "  f32|dl:9/8  |");
    }
}
