//! What the wire says of a tensor: the payload of ext `0x54`, up to its data.
//!
//! ```text
//! u8 form │ u8 dtype code, u8 bits, u8 flags, u8 device type, uv device index, uv rank, uv dims…, uv strides… │ data or place
//!         └──────────────────────────── the fields, which also travel under other formats ──────────────────┘
//! ```

use smallvec::SmallVec;

use super::buffer::Buffer;
use super::{to_u64, varint};
use crate::device::{Device, Pin};
use crate::error::{Error, Result};
use crate::tensor::{self, DType, Packed, Shape};

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

/// The start of the payload of most tensors: the form and the fields of one without strides, whose device has a small index and whose
/// dims take up to 8 bytes.
///
/// It is put together in two registers and stored as two words. Bytes that were stored one by one would have to arrive in memory
/// before they could be copied on together, which takes longer than to write them.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    /// All up to the rank, in [`HEAD`](Self::HEAD) bytes, the first of them lowest; in the byte behind them, how many the dims take.
    head: u64,
    dims: u64,
}

impl Short {
    /// How many bytes there are before the dims.
    const HEAD: usize = 7;

    /// The most bytes that [`write_short`] makes use of, the data left out.
    pub(crate) const MOST: usize = 6 + 3 * 8;

    /// The form of inline data and the fields; `None` where they do not have that form.
    #[inline(always)]
    pub(crate) fn of(
        [code, bits]: [u8; 2],
        requires_grad: bool,
        pin: Pin,
        device: Device,
        shape: &[usize],
    ) -> Option<Self> {
        let (device_type, device_index) = device.dlpack();
        let small = |n: u64| u8::try_from(n).ok().filter(|&n| n < 0x80);
        let (device_index, rank) = (small(device_index)?, small(to_u64(shape.len()))?);
        let flags = (u8::from(requires_grad) * REQUIRES_GRAD) | (pin_bits(pin) << PIN_SHIFT);
        let (mut dims, mut shift) = (0u64, 0u32);
        for &dim in shape {
            let mut n = to_u64(dim);
            while n >= 0x80 {
                dims |= (n & 0x7f | 0x80).checked_shl(shift)?;
                shift += 8;
                n >>= 7;
            }
            dims |= n.checked_shl(shift)?;
            shift += 8;
        }
        let head = [INLINE, code, bits, flags, device_type, device_index, rank, 0];
        Some(Self {
            head: u64::from_le_bytes(head) | u64::from(shift / 8) << 56,
            dims,
        })
    }

    /// How many bytes the dims take.
    #[inline(always)]
    fn dims_len(self) -> usize {
        let [.., used] = self.head.to_le_bytes();
        used.into()
    }

    /// The words with 0 for what is not written.
    #[inline(always)]
    fn without_len(self) -> Self {
        Self {
            head: self.head << 8 >> 8,
            dims: self.dims,
        }
    }

    /// The fields alone.
    pub(crate) fn fields(self) -> Fields {
        let mut fields = Fields::from_slice(&self.head.to_le_bytes()[1..Self::HEAD]);
        fields.extend_from_slice(&self.dims.to_le_bytes()[..self.dims_len()]);
        fields
    }

    /// In two words, of which the first is never 0.
    #[inline(always)]
    pub(crate) fn to_words(self) -> [u64; 2] {
        // The number of an element's bits is never 0.
        [self.head, self.dims]
    }

    #[inline(always)]
    pub(crate) fn from_words([head, dims]: [u64; 2]) -> Option<Self> {
        (head != 0).then_some(Self { head, dims })
    }
}

/// The fields' bytes.
pub(crate) fn fields(
    [code, bits]: [u8; 2],
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
    out.extend_from_slice(&[code, bits, flags, device_type]);
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

    /// The length in bytes of the tensor's data, after checking the strides.
    pub(crate) fn data_len(&self) -> Result<usize> {
        tensor::data_len(self.dtype, &self.shape, self.strides.as_deref())
    }
}

/// What fields say of a tensor without strides, of up to four dims and with elements of whole bytes, as far as a tensor on the host
/// needs it.
pub(crate) struct Dense {
    pub(crate) dtype: Packed,
    dims: [usize; 4],
    pub(crate) rank: usize,
    /// The length of the data in bytes.
    pub(crate) len: usize,
}

impl Dense {
    /// Reads all of `bytes`; `None` where they describe another tensor, and where something is wrong.
    ///
    /// Each dim stays in a register of its own until the tensor is made. A loop would fill an array, which would have to arrive in
    /// memory before it could be moved.
    #[inline(always)]
    pub(crate) fn read(mut bytes: &[u8]) -> Option<Self> {
        let (&[code, bits, flags, _], rest) = bytes.split_first_chunk()?;
        if flags & (STRIDED | !KNOWN_FLAGS) != 0 || pin_of(flags >> PIN_SHIFT).is_err() {
            return None;
        }
        bytes = rest;
        let mut next = || varint::quick(&mut bytes);
        let _device_index = next()?;
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
        Some(Self {
            dtype: Packed::of_pair(code, bits)?,
            dims: [a, b, c, d],
            rank,
            len,
        })
    }

    #[inline(always)]
    pub(crate) fn shape(&self) -> Shape {
        Shape::from_buf_and_len(self.dims, self.rank)
    }
}

/// The length in bytes of the data that fields ask for.
pub(crate) fn data_len(fields: &[u8], max_rank: usize) -> Result<usize> {
    match Dense::read(fields) {
        Some(dense) if dense.rank <= max_rank => Ok(dense.len),
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
#[inline(always)]
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
#[inline(always)]
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

/// Appends a whole payload, with the ext header before it, of a description that is short. There should be room for it and
/// [`Short::MOST`] bytes.
#[inline(always)]
pub(crate) fn write_short(out: &mut Buffer, short: Short, data: &[u8]) -> Result<()> {
    let used = Short::HEAD + short.dims_len();
    let len = used + data.len();
    let Short { head, dims } = short.without_len();
    match u16::try_from(len) {
        // The common header takes four bytes, and is put together with the rest.
        Ok(len @ 0x100..) => {
            let [high, low] = len.to_be_bytes();
            let header = u32::from_le_bytes([0xc8, high, low, super::ext::TENSOR]);
            let words = [u64::from(header) | head << 32, head >> 32 | dims << 24, dims >> 40];
            out.put_words(words, 4 + used, data);
        }
        _ => {
            super::write::ext(out, super::ext::TENSOR, len)?;
            out.put_words([head | dims << 56, dims >> 8], used, data);
        }
    }
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

#[inline(always)]
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

#[cfg(test)]
mod tests {
    use super::{Buffer, Device, Fields, Pin, Short, fields, write_inline, write_short};

    #[test]
    fn a_short_description_is_written_as_any_other() {
        let shapes: [&[usize]; 9] = [
            &[],
            &[0],
            &[127, 128],
            &[1; 8],
            &[1; 9],
            &[16_383, 16_384],
            &[1 << 55],
            &[1 << 56],
            &[usize::MAX],
        ];
        let devices = [Device::Cpu, Device::Cuda(127), Device::Cuda(128), Device::Mps];
        let mut short_ones = 0;
        for (shape, device) in shapes.iter().flat_map(|shape| devices.map(|device| (shape, device))) {
            for (requires_grad, pin) in [(false, Pin::None), (true, Pin::Source)] {
                let fields = fields([2, 32], requires_grad, pin, device, shape, None);
                let Some(short) = Short::of([2, 32], requires_grad, pin, device, shape) else {
                    let dims: Fields = fields[6..].into();
                    assert!(device == Device::Cuda(128) || dims.len() > 8, "{shape:?} on {device}");
                    continue;
                };
                short_ones += 1;
                assert_eq!(short.fields(), fields, "{shape:?} on {device}");
                for len in [0, 1, 4, 9, 200, 248, 300, 65_522, 70_000] {
                    let data = vec![7; len];
                    let (mut quick, mut slow) = (Buffer::default(), Buffer::default());
                    write_short(&mut quick, short, &data).unwrap();
                    write_inline(&mut slow, &fields, len).unwrap();
                    slow.put_short(&data);
                    assert_eq!(quick[..], slow[..], "{shape:?} on {device}, {len} bytes");
                }
            }
        }
        assert!(short_ones > 30);
    }
}
