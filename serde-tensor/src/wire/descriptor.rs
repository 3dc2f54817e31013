//! What the wire says of a tensor: the payload of ext `0x54`, up to its data.
//!
//! ```text
//! u8 form │ u8 dtype code, u8 bits, u8 flags, u8 device type, uv device index, uv rank, uv dims…, uv strides… │ data or place
//!         └──────────────────────────── the fields, which also travel under other formats ──────────────────┘
//! ```

use std::cell::Cell;

use smallvec::SmallVec;

use super::buffer::Buffer;
use super::{to_u64, varint};
use crate::device::{Device, Pin};
use crate::error::{Error, Result};
use crate::tensor::{self, DType, Shape};

/// The fields' bytes, which for most tensors are fewer than twenty.
pub(crate) type Fields = SmallVec<[u8; 48]>;

const INLINE: u8 = 0;
const SEGMENT: u8 = 1;

const REQUIRES_GRAD: u8 = 1;
const STRIDED: u8 = 1 << 1;
const PIN_SHIFT: u8 = 2;
const KNOWN_FLAGS: u8 = 0b1111;

/// A tensor's description.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Descriptor {
    pub(crate) dtype: DType,
    pub(crate) requires_grad: bool,
    pub(crate) pin: Pin,
    pub(crate) device: Device,
    pub(crate) shape: Shape,
    /// In elements; `None` is row-major.
    pub(crate) strides: Option<Shape>,
}

/// Where a tensor's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'de> {
    Inline(&'de [u8]),
    Segment { index: u64, offset: u64 },
}

/// The start of the payload of most tensors: the form and the fields of one without strides, in up to 16 bytes.
///
/// It is put together in two registers and stored as two words. Bytes that were stored one by one would have to arrive in memory
/// before they could be copied on together, which takes longer than to write them.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    /// The first byte is the lowest of the first word.
    low: u64,
    high: u64,
    len: usize,
}

impl Short {
    /// The form of inline data and the fields; `None` where they take more bytes than there are.
    #[inline]
    pub(crate) fn of(dtype: DType, requires_grad: bool, pin: Pin, device: Device, shape: &[usize]) -> Option<Self> {
        let (device_type, device_index) = device.dlpack();
        let flags = (u8::from(requires_grad) * REQUIRES_GRAD) | (pin_bits(pin) << PIN_SHIFT);
        let head = u64::from_le_bytes([INLINE, dtype.code(), dtype.bits(), flags, device_type, 0, 0, 0]);
        let mut short = Self {
            low: head,
            high: 0,
            len: 5,
        };
        short.push(device_index)?;
        short.push(to_u64(shape.len()))?;
        for &dim in shape {
            short.push(to_u64(dim))?;
        }
        Some(short)
    }

    /// Appends a number.
    #[inline]
    fn push(&mut self, mut n: u64) -> Option<()> {
        loop {
            let more = u64::from(n >= 0x80) << 7;
            let byte = (n & 0x7f | more) << (self.len % 8 * 8);
            match self.len {
                0..8 => self.low |= byte,
                8..16 => self.high |= byte,
                _ => return None,
            }
            self.len += 1;
            n >>= 7;
            if more == 0 {
                return Some(());
            }
        }
    }

    /// The fields alone.
    pub(crate) fn fields(self) -> Fields {
        let bytes = [self.low, self.high].map(u64::to_le_bytes);
        Fields::from_slice(&bytes.as_flattened()[1..self.len])
    }
}

/// A place for a [`Short`], a word at a time.
pub(crate) struct ShortCell {
    low: Cell<u64>,
    high: Cell<u64>,
    /// 0 where there is none.
    len: Cell<usize>,
}

impl ShortCell {
    pub(crate) const fn new() -> Self {
        Self {
            low: Cell::new(0),
            high: Cell::new(0),
            len: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn set(&self, short: Short) {
        self.low.set(short.low);
        self.high.set(short.high);
        self.len.set(short.len);
    }

    #[inline]
    pub(crate) fn take(&self) -> Option<Short> {
        let len = self.len.take();
        (len > 0).then(|| Short {
            low: self.low.get(),
            high: self.high.get(),
            len,
        })
    }
}

/// The fields' bytes.
pub(crate) fn fields(
    dtype: DType,
    requires_grad: bool,
    pin: Pin,
    device: Device,
    shape: &[usize],
    strides: Option<&[usize]>,
) -> Fields {
    let (device_type, device_index) = device.dlpack();
    let flags = (u8::from(requires_grad) * REQUIRES_GRAD)
        | (u8::from(strides.is_some()) * STRIDED)
        | (pin_bits(pin) << PIN_SHIFT);
    let mut out = Fields::new();
    out.extend_from_slice(&[dtype.code(), dtype.bits(), flags, device_type]);
    varint::write(&mut out, device_index);
    varint::write(&mut out, to_u64(shape.len()));
    for &n in shape.iter().chain(strides.into_iter().flatten()) {
        varint::write(&mut out, to_u64(n));
    }
    out
}

impl Descriptor {
    /// Reads the fields from the front of `bytes` and leaves what follows them.
    ///
    /// The shape is not looked at beyond its rank: see [`data_len`](Self::data_len).
    pub(crate) fn read(bytes: &mut &[u8], max_rank: usize) -> Result<Self> {
        let Some((&[code, bits, flags, device_type], rest)) = bytes.split_first_chunk() else {
            return Err(cut_short());
        };
        *bytes = rest;
        let dtype = DType::from_dlpack(code, bits)
            .ok_or_else(|| Error::syntax(format!("a tensor's elements have {bits} bits")))?;
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Error::syntax(format!(
                "unknown tensor flags {:#04x}",
                flags & !KNOWN_FLAGS
            )));
        }
        let pin = pin_of(flags >> PIN_SHIFT)?;
        let device = Device::from_dlpack(device_type, varint::read(bytes)?);
        let rank = varint::read(bytes)?;
        let rank = match usize::try_from(rank) {
            Ok(rank) if rank <= max_rank => rank,
            _ => {
                return Err(Error::limit(format!(
                    "a tensor of rank {rank}, above the limit of {max_rank}"
                )));
            }
        };
        let mut numbers = |what| numbers(bytes, rank, what);
        let shape = numbers("dim")?;
        let strides = match flags & STRIDED {
            0 => None,
            _ => Some(numbers("stride")?),
        };
        Ok(Self {
            dtype,
            requires_grad: flags & REQUIRES_GRAD != 0,
            pin,
            device,
            shape,
            strides,
        })
    }

    /// Reads all of `bytes` as the fields of a tensor without strides, of up to four dims and with elements of whole bytes, and the length of
    /// its data; `None` of any other, and of what is wrong.
    ///
    /// Each dim stays in a register of its own until the description is made. A loop would fill an array, which would have to arrive in
    /// memory before it could be moved.
    #[inline(always)]
    pub(crate) fn quick(mut bytes: &[u8]) -> Option<(Self, usize)> {
        let (&[code, bits, flags, device_type], rest) = bytes.split_first_chunk()?;
        if flags & (STRIDED | !KNOWN_FLAGS) != 0 {
            return None;
        }
        bytes = rest;
        let mut next = || varint::read(&mut bytes).ok();
        let device = Device::from_dlpack(device_type, next()?);
        let rank = usize::try_from(next()?).ok()?;
        let mut dim = || usize::try_from(next()?).ok();
        let (a, b, c, d, count) = match rank {
            0 => (0, 0, 0, 0, 1),
            1 => {
                let a = dim()?;
                (a, 0, 0, 0, a)
            }
            2 => {
                let (a, b) = (dim()?, dim()?);
                (a, b, 0, 0, a.checked_mul(b)?)
            }
            3 => {
                let (a, b, c) = (dim()?, dim()?, dim()?);
                (a, b, c, 0, a.checked_mul(b)?.checked_mul(c)?)
            }
            4 => {
                let (a, b, c, d) = (dim()?, dim()?, dim()?, dim()?);
                (a, b, c, d, a.checked_mul(b)?.checked_mul(c)?.checked_mul(d)?)
            }
            _ => return None,
        };
        let len = count.checked_mul(usize::from(bits / 8))?;
        if !bytes.is_empty() || bits % 8 != 0 || isize::try_from(len).is_err() {
            return None;
        }
        let dtype = DType::from_dlpack(code, bits)?;
        let descriptor = Self {
            dtype,
            requires_grad: flags & REQUIRES_GRAD != 0,
            pin: pin_of(flags >> PIN_SHIFT).ok()?,
            device,
            shape: Shape::from_buf_and_len([a, b, c, d], rank),
            strides: None,
        };
        Some((descriptor, len))
    }

    /// The length in bytes of the tensor's data, after checking the strides.
    pub(crate) fn data_len(&self) -> Result<usize> {
        tensor::data_len(self.dtype, &self.shape, self.strides.as_deref())
    }
}

/// The length in bytes of the data that fields ask for.
pub(crate) fn data_len(fields: &[u8], max_rank: usize) -> Result<usize> {
    match Descriptor::quick(fields) {
        Some((descriptor, len)) if descriptor.shape.len() <= max_rank => Ok(len),
        _ => Descriptor::read(&mut &*fields, max_rank)?.data_len(),
    }
}

/// So many dims or strides.
fn numbers(bytes: &mut &[u8], rank: usize, what: &str) -> Result<Shape> {
    // Each takes at least a byte, so the reservation is justified.
    let mut numbers = Shape::with_capacity(rank.min(bytes.len()));
    for _ in 0..rank {
        numbers.push(size(varint::read(bytes)?, what)?);
    }
    Ok(numbers)
}

/// A whole payload, as borrowed parts: the fields, which are not looked into, and the place of the data.
#[inline]
pub(crate) fn split(payload: &[u8]) -> Result<(&[u8], Place<'_>)> {
    let Some((&form, fields)) = payload.split_first() else {
        return Err(Error::eof("a tensor's description is empty"));
    };
    let mut rest = fields;
    skip(&mut rest)?;
    let fields = &fields[..fields.len() - rest.len()];
    let place = match form {
        INLINE => Place::Inline(rest),
        SEGMENT => {
            let (index, offset) = (varint::read(&mut rest)?, varint::read(&mut rest)?);
            if !rest.is_empty() {
                let message = format!("{} bytes follow a tensor's place in its segment", rest.len());
                return Err(Error::syntax(message));
            }
            Place::Segment { index, offset }
        }
        _ => return Err(Error::syntax(format!("unknown tensor form {form}"))),
    };
    Ok((fields, place))
}

/// The segment that a tensor's data is in and its offset there, from the front of what follows its fields; `None` of an inline
/// tensor. `form` is the byte in front of the fields.
pub(crate) fn place(form: u8, mut rest: &[u8]) -> Result<Option<(u64, u64)>> {
    match form {
        SEGMENT => Ok(Some((varint::read(&mut rest)?, varint::read(&mut rest)?))),
        _ => Ok(None),
    }
}

/// Passes over the fields at the front of `bytes`.
#[inline]
fn skip(bytes: &mut &[u8]) -> Result<()> {
    let Some((&[_, _, flags, _], rest)) = bytes.split_first_chunk() else {
        return Err(cut_short());
    };
    *bytes = rest;
    varint::read(bytes)?;
    let rank = varint::read(bytes)?;
    let mut numbers = if flags & STRIDED == 0 {
        rank
    } else {
        rank.saturating_mul(2)
    };
    while numbers > 0 {
        let (&byte, rest) = bytes.split_first().ok_or_else(cut_short)?;
        *bytes = rest;
        numbers -= u64::from(byte < 0x80);
    }
    Ok(())
}

#[cold]
fn cut_short() -> Error {
    Error::eof("a tensor's description is cut short")
}

/// Appends a whole payload, with the ext header before it, up to inline data of `len` bytes.
#[inline]
pub(crate) fn write_inline(out: &mut Buffer, fields: &[u8], len: usize) -> Result<()> {
    super::write::ext(out, super::ext::TENSOR, 1 + fields.len() + len)?;
    out.push(INLINE);
    out.put_short(fields);
    Ok(())
}

/// The same, of a description that is short.
#[inline]
pub(crate) fn write_short(out: &mut Buffer, short: Short, len: usize) -> Result<()> {
    super::write::ext(out, super::ext::TENSOR, short.len + len)?;
    out.put(short.low.to_le_bytes(), short.len.min(8));
    out.put(short.high.to_le_bytes(), short.len.saturating_sub(8));
    Ok(())
}

/// Appends a whole payload, with the ext header before it, whose data is in a segment.
#[inline]
pub(crate) fn write_segment(out: &mut Buffer, fields: &[u8], index: u64, offset: u64) -> Result<()> {
    let mut place = Fields::new();
    varint::write(&mut place, index);
    varint::write(&mut place, offset);
    super::write::ext(out, super::ext::TENSOR, 1 + fields.len() + place.len())?;
    out.push(SEGMENT);
    out.put_short(fields);
    out.put_short(&place);
    Ok(())
}

#[inline]
fn pin_bits(pin: Pin) -> u8 {
    match pin {
        Pin::None => 0,
        Pin::KeepCpu => 1,
        Pin::Source => 2,
    }
}

#[inline]
fn pin_of(bits: u8) -> Result<Pin> {
    match bits {
        0 => Ok(Pin::None),
        1 => Ok(Pin::KeepCpu),
        2 => Ok(Pin::Source),
        _ => Err(Error::syntax(format!("unknown tensor pin {bits}"))),
    }
}

#[inline]
fn size(n: u64, what: &str) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::limit(format!("a {what} of {n} exceeds the address space")))
}
