//! The frame: a header, a body, a table of segments and their data.

use std::ops::Range;

use super::front::entry;
use super::{checksum::crc32c, to_u64};
use crate::error::{Error, Result};

/// `0xC1`, which no MessagePack value starts with, and the format's letters.
pub(crate) const MAGIC: [u8; 4] = *b"\xC1STN";
pub(crate) const HEADER_LEN: usize = 64;
pub(crate) const ENTRY_LEN: usize = 24;
/// log2 of the segments' alignment.
pub(crate) const ALIGN_RANGE: std::ops::RangeInclusive<u8> = 4..=16;

const VERSION: u8 = 1;
const CHECKSUMS: u8 = 1;
const CHECKSUM_AT: usize = 44;
const NOT_MAGIC: &str = "a frame starts with C1 53 54 4E";

/// The fields of a header, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) checksums: bool,
    pub(crate) align: u8,
    pub(crate) frame_len: u64,
    pub(crate) body_offset: u64,
    pub(crate) body_len: u64,
    pub(crate) table_offset: u64,
    pub(crate) segments: u32,
    pub(crate) data_offset: u64,
    pub(crate) data_len: u64,
    pub(crate) checksum: u32,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) checksum: u32,
}

impl Header {
    /// Reads a header and checks all that can be checked without the rest of the frame.
    pub(crate) fn read(bytes: &[u8; HEADER_LEN]) -> Result<Self> {
        let [flags, align] = Self::check_front(array(bytes, 0))?;
        let header = Self {
            checksums: flags & CHECKSUMS != 0,
            align,
            frame_len: u64::from_le_bytes(array(bytes, 8)),
            body_offset: u64::from_le_bytes(array(bytes, 16)),
            body_len: u64::from_le_bytes(array(bytes, 24)),
            table_offset: u64::from_le_bytes(array(bytes, 32)),
            segments: u32::from_le_bytes(array(bytes, 40)),
            checksum: u32::from_le_bytes(array(bytes, CHECKSUM_AT)),
            data_offset: u64::from_le_bytes(array(bytes, 48)),
            data_len: u64::from_le_bytes(array(bytes, 56)),
        };
        if !header.checksums && header.checksum != 0 {
            return Err(Error::syntax("a checksum is set that the flags say is not").at(44));
        }
        header.check_sections()?;
        Ok(header)
    }

    /// Checks the first bytes of what should become a frame, as far as they go.
    pub(crate) fn check_start(bytes: &[u8]) -> Result<()> {
        if let Some(front) = bytes.first_chunk() {
            return Self::check_front(*front).map(drop);
        }
        let magic = bytes.len().min(MAGIC.len());
        if bytes[..magic] == MAGIC[..magic] {
            return Ok(());
        }
        Err(Error::syntax(NOT_MAGIC).at(0))
    }

    /// Checks all that comes before the lengths; gives flags and alignment.
    fn check_front(front: [u8; 8]) -> Result<[u8; 2]> {
        let [magic @ .., version, flags, align, reserved] = front;
        if magic != MAGIC {
            return Err(Error::syntax(NOT_MAGIC).at(0));
        }
        if version != VERSION {
            return Err(Error::syntax(format!("unknown frame version {version}")).at(4));
        }
        if flags & !CHECKSUMS != 0 {
            return Err(Error::syntax(format!("unknown frame flags {:#04x}", flags & !CHECKSUMS)).at(5));
        }
        if !ALIGN_RANGE.contains(&align) {
            return Err(Error::syntax(format!("alignment 2^{align} is not in 2^4 to 2^16")).at(6));
        }
        if reserved != 0 {
            return Err(Error::syntax(format!("a reserved byte is {reserved:#04x}")).at(7));
        }
        Ok([flags, align])
    }

    /// The header's bytes, its checksum taken over `body` and `table` when checksums are on.
    pub(crate) fn write(&self, body: &[u8], table: &[u8]) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&[VERSION, u8::from(self.checksums) * CHECKSUMS, self.align, 0]);
        bytes[8..16].copy_from_slice(&self.frame_len.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.body_offset.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.body_len.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.table_offset.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.segments.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.data_offset.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.data_len.to_le_bytes());
        if self.checksums {
            let checksum = crc32c(&[&bytes[..CHECKSUM_AT], body, table]);
            bytes[CHECKSUM_AT..48].copy_from_slice(&checksum.to_le_bytes());
        }
        bytes
    }

    /// Body, table and data lie between the header and the frame's end and share no byte.
    fn check_sections(&self) -> Result<()> {
        let table_len = u64::from(self.segments) * to_u64(ENTRY_LEN);
        let mut sections = [
            ("body", self.body_offset, self.body_len, 16),
            ("table", self.table_offset, table_len, 32),
            ("data", self.data_offset, self.data_len, 48),
        ];
        for (name, offset, len, at) in sections {
            let end = offset.checked_add(len);
            if offset < to_u64(HEADER_LEN) || end.is_none_or(|end| end > self.frame_len) {
                return Err(Error::syntax(format!(
                    "the {name} section, {len} bytes at {offset}, is not inside the frame of {} bytes",
                    self.frame_len
                ))
                .at(at));
            }
        }
        // No sum can overflow: all ends are inside the frame.
        let apart = |a: usize, b: usize| {
            let [(_, a, a_len, _), (_, b, b_len, _)] = [sections[a], sections[b]];
            a + a_len <= b || b + b_len <= a
        };
        if apart(0, 1) && apart(1, 2) && apart(0, 2) {
            return Ok(());
        }
        // Which two share a byte is said in their order.
        sections.sort_unstable_by_key(|&(_, offset, len, _)| (offset, len));
        for [(before, offset, len, _), (name, start, _, at)] in sections.array_windows() {
            if offset + len > *start {
                return Err(Error::syntax(format!("the {name} section overlaps the {before} section")).at(*at));
            }
        }
        Ok(())
    }
}

impl Entry {
    pub(crate) fn read(bytes: &[u8; ENTRY_LEN]) -> Self {
        Self {
            offset: u64::from_le_bytes(array(bytes, 0)),
            len: u64::from_le_bytes(array(bytes, 8)),
            checksum: u32::from_le_bytes(array(bytes, 16)),
        }
    }

    pub(crate) fn write(self, table: &mut Vec<u8>) {
        table.extend_from_slice(&self.offset.to_le_bytes());
        table.extend_from_slice(&self.len.to_le_bytes());
        table.extend_from_slice(&self.checksum.to_le_bytes());
        table.extend_from_slice(&[0; 4]);
    }
}

/// A frame whose header and table were checked.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'de> {
    bytes: &'de [u8],
    table: &'de [[u8; ENTRY_LEN]],
    body: Range<usize>,
    checksums: bool,
}

impl<'de> Frame<'de> {
    /// Opens the frame at the front of `bytes`; what follows it is left alone.
    pub(crate) fn open(bytes: &'de [u8], max_segments: usize) -> Result<Self> {
        let Some(start) = bytes.first_chunk() else {
            return Err(Error::eof(format!(
                "a frame's header takes {HEADER_LEN} bytes, {} are left",
                bytes.len()
            ))
            .at(0));
        };
        let header = Header::read(start)?;
        let frame_len = usize::try_from(header.frame_len).ok();
        let Some(bytes) = frame_len.and_then(|len| bytes.get(..len)) else {
            return Err(Error::eof(format!(
                "the frame has {} bytes, {} are there",
                header.frame_len,
                bytes.len()
            ))
            .at(8));
        };
        let body = section(header.body_offset, header.body_len)?;
        let table = &bytes[section(header.table_offset, table_len(&header, max_segments)?)?];
        check_front(&header, start, &bytes[body.clone()], table)?;
        let (table, _) = table.as_chunks();
        Ok(Self {
            bytes,
            table,
            body,
            checksums: header.checksums,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &'de [u8] {
        self.bytes
    }

    pub(crate) fn body(&self) -> Range<usize> {
        self.body.clone()
    }

    pub(crate) fn segments(&self) -> usize {
        self.table.len()
    }

    /// How many segments need their checksum checked.
    pub(crate) fn checked_segments(&self) -> usize {
        if self.checksums { self.table.len() } else { 0 }
    }

    /// The bytes of a segment, not checked against their checksum.
    pub(crate) fn segment(&self, index: u64) -> Result<&'de [u8]> {
        let entry = self.entry(index)?;
        Ok(&self.bytes[section(entry.offset, entry.len)?])
    }

    /// Compares a segment with its checksum.
    pub(crate) fn check_segment(&self, index: u64) -> Result<()> {
        let entry = self.entry(index)?;
        let found = crc32c(&[&self.bytes[section(entry.offset, entry.len)?]]);
        if found == entry.checksum {
            return Ok(());
        }
        Err(mismatch(&format!("segment {index}"), entry.checksum, found).at(entry.offset))
    }

    pub(crate) fn entry(&self, index: u64) -> Result<Entry> {
        entry(self.table, index)
    }
}

/// The body of a frame that was opened before, and the number of its segments.
pub(crate) fn body(frame: &[u8]) -> Option<(&[u8], usize)> {
    let header = frame.first_chunk::<HEADER_LEN>()?;
    let [offset, len] = [16, 24].map(|at| u64::from_le_bytes(array(header, at)));
    let body = section(offset, len).ok().and_then(|body| frame.get(body))?;
    let segments = usize::try_from(u32::from_le_bytes(array(header, 40))).ok()?;
    Some((body, segments))
}

/// The length of the table in bytes, if it has no more rows than a frame may.
pub(super) fn table_len(header: &Header, max_segments: usize) -> Result<u64> {
    if usize::try_from(header.segments).map_or(true, |count| count > max_segments) {
        return Err(Error::limit(format!(
            "a frame of {} segments, above the limit of {max_segments}",
            header.segments
        ))
        .at(40));
    }
    Ok(u64::from(header.segments) * to_u64(ENTRY_LEN))
}

/// Checks header, body and table against their checksum, and the table.
pub(super) fn check_front(header: &Header, start: &[u8; HEADER_LEN], body: &[u8], table: &[u8]) -> Result<()> {
    if header.checksums {
        let found = crc32c(&[&start[..CHECKSUM_AT], body, table]);
        if found != header.checksum {
            return Err(mismatch("the header, body and table", header.checksum, found).at(44));
        }
    }
    check_table(header, table.as_chunks().0)
}

/// Segments are aligned, ascend without overlap, and lie inside the data section.
fn check_table(header: &Header, table: &[[u8; ENTRY_LEN]]) -> Result<()> {
    let data_end = header.data_offset + header.data_len;
    let mut free_from = header.data_offset;
    for (index, row) in table.iter().enumerate() {
        let entry = Entry::read(row);
        let fault = if row[20..] != [0; 4] {
            "has a reserved byte that is not zero"
        } else if !header.checksums && entry.checksum != 0 {
            "has a checksum that the flags say is not set"
        } else if !entry.offset.is_multiple_of(1 << header.align) {
            "is not at a multiple of the frame's alignment"
        } else if entry.offset < free_from {
            "starts before the data section or the end of the segment before it"
        } else if entry.offset.checked_add(entry.len).is_none_or(|end| end > data_end) {
            "does not end inside the data section"
        } else {
            free_from = entry.offset + entry.len;
            continue;
        };
        let at = header.table_offset + to_u64(index * ENTRY_LEN);
        return Err(Error::syntax(format!(
            "segment {index}, {} bytes at {}, {fault}",
            entry.len, entry.offset
        ))
        .at(at));
    }
    Ok(())
}

#[cold]
pub(crate) fn mismatch(what: &str, stated: u32, found: u32) -> Error {
    Error::syntax(format!(
        "the checksum of {what} is {found:#010x}, the message says {stated:#010x}"
    ))
}

/// A section that was checked to lie inside a frame in memory, so it fits the address space.
pub(super) fn section(offset: u64, len: u64) -> Result<Range<usize>> {
    match (usize::try_from(offset), usize::try_from(offset + len)) {
        (Ok(start), Ok(end)) => Ok(start..end),
        _ => Err(Error::limit("a section exceeds the address space")),
    }
}

/// `N` bytes at a constant offset.
fn array<const N: usize, const M: usize>(bytes: &[u8; M], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}
