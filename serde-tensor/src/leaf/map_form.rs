//! A tensor as a map, for formats that people read:
//! `{"dtype":"f32","shape":[2,3],"device":"cuda:0","data":"<base64>"}`.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::payload::row_major;
use super::{MAP_TOKEN, Raw, Source};
use crate::backend::Description;
use crate::call::encode;
use crate::device::{Device, Pin};
use crate::error::Result;
use crate::tensor::{DType, Shape};
use crate::wire::descriptor::Descriptor;

/// Every key of the map; no other is allowed, or an untagged variant would swallow any map.
const KEYS: &[&str] = &["dtype", "shape", "device", "requires_grad", "pin", "data"];

/// Writes the map. `device`, `requires_grad` and `pin` are left out at cpu, false and none.
///
/// A map, not a struct: serde hides the format from a variant of an internally tagged enum, and a struct would there
/// become an array in this crate's compact mode.
pub(super) fn serialize<S: Serializer>(
    source: &dyn Source,
    description: &Description<'_>,
    len: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let dtype = description.dtype();
    let &Description {
        requires_grad,
        device,
        ref shape,
        ..
    } = description;
    let pin = encode::pin().map_err(encode::fail)?;
    let optional = [!device.is_cpu(), requires_grad, pin != Pin::None];
    let entries = 3 + optional.iter().filter(|&&there| there).count();
    let mut map = serializer.serialize_map(Some(entries))?;
    map.serialize_entry("dtype", &First(&dtype.to_string()))?;
    map.serialize_entry("shape", &**shape)?;
    if !device.is_cpu() {
        map.serialize_entry("device", &device.to_string())?;
    }
    if requires_grad {
        map.serialize_entry("requires_grad", &true)?;
    }
    match pin {
        Pin::None => {}
        Pin::KeepCpu => map.serialize_entry("pin", "keep_cpu")?,
        Pin::Source => map.serialize_entry("pin", "source")?,
    }
    // Read last, since a scan stops before.
    let data = row_major(source, description, len)?;
    map.serialize_entry("data", &BASE64.encode(&data))?;
    map.end()
}

/// The first value of the map.
struct First<'a>(&'a str);

impl Serialize for First<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(MAP_TOKEN, self.0)
    }
}

/// Reads the map.
pub(super) fn visit<'de, A: MapAccess<'de>>(mut map: A) -> Result<Raw<'de>, A::Error> {
    let mut dtype: Option<DType> = None;
    let mut shape: Option<Vec<u64>> = None;
    let mut device: Option<Device> = None;
    let mut requires_grad: Option<bool> = None;
    let mut pin: Option<Pin> = None;
    let mut data: Option<Vec<u8>> = None;
    while let Some(key) = map.next_key::<Key>()? {
        match key {
            Key::Dtype => once("dtype", &mut dtype, parsed(&map.next_value::<Text<'de>>()?)?)?,
            Key::Shape => once("shape", &mut shape, map.next_value()?)?,
            Key::Device => once("device", &mut device, parsed(&map.next_value::<Text<'de>>()?)?)?,
            Key::RequiresGrad => once("requires_grad", &mut requires_grad, map.next_value()?)?,
            Key::Pin => {
                let text = map.next_value::<Text<'de>>()?;
                once("pin", &mut pin, pin_of(&text.0)?)?;
            }
            Key::Data => {
                let text = map.next_value::<Text<'de>>()?;
                let bytes = BASE64
                    .decode(text.0.as_bytes())
                    .map_err(|error| A::Error::custom(format_args!("data is not base64: {error}")))?;
                once("data", &mut data, bytes)?;
            }
        }
    }
    let missing = A::Error::missing_field;
    let shape = shape.ok_or_else(|| missing("shape"))?;
    let descriptor = Descriptor {
        dtype: dtype.ok_or_else(|| missing("dtype"))?,
        requires_grad: requires_grad.unwrap_or_default(),
        pin: pin.unwrap_or_default(),
        device: device.unwrap_or_default(),
        shape: shape
            .into_iter()
            .map(usize::try_from)
            .collect::<Result<Shape, _>>()
            .map_err(|_| A::Error::custom("a dim exceeds the address space"))?,
        strides: None,
    };
    let data = data.ok_or_else(|| missing("data"))?;
    Ok(Raw::of(descriptor, Cow::Owned(data)))
}

#[derive(Clone, Copy)]
enum Key {
    Dtype,
    Shape,
    Device,
    RequiresGrad,
    Pin,
    Data,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = Text::deserialize(deserializer)?;
        Ok(match &*key.0 {
            "dtype" => Self::Dtype,
            "shape" => Self::Shape,
            "device" => Self::Device,
            "requires_grad" => Self::RequiresGrad,
            "pin" => Self::Pin,
            "data" => Self::Data,
            other => return Err(D::Error::unknown_field(other, KEYS)),
        })
    }
}

/// A string, borrowed where it can be. (`Cow<str>` by itself never is.)
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_string(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string of a tensor")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text)))
    }
}

fn once<T, E: serde::de::Error>(name: &'static str, slot: &mut Option<T>, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

fn parsed<T, E>(text: &Text<'_>) -> Result<T, E>
where
    T: std::str::FromStr<Err: fmt::Display>,
    E: serde::de::Error,
{
    text.0.parse().map_err(E::custom)
}

fn pin_of<E: serde::de::Error>(text: &str) -> Result<Pin, E> {
    match text {
        "none" => Ok(Pin::None),
        "keep_cpu" => Ok(Pin::KeepCpu),
        "source" => Ok(Pin::Source),
        other => Err(E::unknown_variant(other, &["none", "keep_cpu", "source"])),
    }
}
