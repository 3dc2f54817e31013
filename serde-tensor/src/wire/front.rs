//! A frame's front, apart from the data: header, body and table in memory of their own.

use std::ops::Range;

use super::frame::{ENTRY_LEN, Entry, HEADER_LEN, Header, check_front, mismatch, section, table_len};
use super::to_u64;
use crate::error::{Error, Result};

/// The body and the table of a frame whose data is elsewhere.
#[derive(Debug)]
pub(crate) struct Front {
    /// The body, then the table.
    bytes: Vec<u8>,
    body: usize,
    header: Header,
}

impl Front {
    /// Reads the front of a frame of `len` bytes by a function that copies bytes from an offset.
    pub(crate) fn read(len: usize, max_segments: usize, read: impl Fn(usize, &mut [u8]) -> Result<()>) -> Result<Self> {
        if len < HEADER_LEN {
            return Err(Error::eof(format!("a frame's header takes {HEADER_LEN} bytes, {len} are left")).at(0));
        }
        let mut start = [0; HEADER_LEN];
        read(0, &mut start)?;
        let header = Header::read(&start)?;
        if header.frame_len > to_u64(len) {
            return Err(Error::eof(format!("the frame has {} bytes, {len} are there", header.frame_len)).at(8));
        }
        let left = to_u64(len) - header.frame_len;
        if left > 0 {
            return Err(Error::syntax(format!("{left} bytes are left over after the value")).at(header.frame_len));
        }
        let body = section(header.body_offset, header.body_len)?;
        let table = section(header.table_offset, table_len(&header, max_segments)?)?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(body.len() + table.len())
            .map_err(|_| Error::limit(format!("no memory for a body of {} bytes", body.len())))?;
        bytes.resize(body.len() + table.len(), 0);
        let (to_body, to_table) = bytes.split_at_mut(body.len());
        read(body.start, to_body)?;
        read(table.start, to_table)?;
        check_front(&header, &start, to_body, to_table)?;
        Ok(Self {
            body: body.len(),
            bytes,
            header,
        })
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[..self.body]
    }

    /// Where the body begins in the message.
    pub(crate) fn body_offset(&self) -> u64 {
        self.header.body_offset
    }

    pub(crate) fn segments(&self) -> usize {
        self.table().len()
    }

    /// The alignment of the segments in bytes.
    pub(crate) fn align(&self) -> usize {
        1 << self.header.align
    }

    /// Whether segments have checksums.
    pub(crate) fn checksums(&self) -> bool {
        self.header.checksums
    }

    /// A segment's row of the table.
    pub(crate) fn entry(&self, index: u64) -> Result<Entry> {
        entry(self.table(), index)
    }

    /// The bytes of a segment, in the message, and its checksum.
    pub(crate) fn segment(&self, index: u64) -> Result<(Range<usize>, u32)> {
        let entry = self.entry(index)?;
        Ok((section(entry.offset, entry.len)?, entry.checksum))
    }

    /// The error of a segment that was found to have another checksum.
    #[cold]
    pub(crate) fn mismatch(index: u64, at: usize, stated: u32, found: u32) -> Error {
        mismatch(&format!("segment {index}"), stated, found).at(to_u64(at))
    }

    fn table(&self) -> &[[u8; ENTRY_LEN]] {
        self.bytes[self.body..].as_chunks().0
    }
}

/// A row of a table.
pub(super) fn entry(table: &[[u8; ENTRY_LEN]], index: u64) -> Result<Entry> {
    let row = usize::try_from(index).ok().and_then(|index| table.get(index));
    row.map(Entry::read)
        .ok_or_else(|| Error::syntax(format!("a tensor names segment {index} of {}", table.len())))
}
