//! A frame in an open file: its structure is in memory, its tensors are read when they are wanted.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use bytes::Bytes;

use super::positioned::read_at;
use super::save::named;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tensor::MAX_ALIGN;
use crate::transport::gap;
use crate::wire::checksum::{self, crc32c};
use crate::wire::frame::{self, Entry, MAGIC};
use crate::wire::front::Front;
use crate::wire::pages::expect_filling;
use crate::wire::store::Store;
use crate::wire::to_u64;

/// How many bytes are read at once where they are not kept.
const PIECE: usize = 128 * 1024;

/// What is in an open file.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A plain message.
    Plain(Bytes),
    Frame(Arc<Stored>),
}

/// A frame in an open file.
#[derive(Debug)]
pub(super) struct Stored {
    file: Opened,
    front: Front,
    /// Which segments were held against their checksum.
    checked: Vec<AtomicBool>,
}

impl Content {
    pub(super) fn open(path: &Path, limits: &Limits) -> Result<Self> {
        let file = Opened::new(path)?;
        let mut first = [0];
        if file.len == 0 {
            return Err(Error::eof("the message is empty").at(0));
        }
        file.read(0, &mut first)?;
        if file.len > limits.message {
            return Err(Error::limit(format!(
                "a message of {} bytes, above the limit of {}",
                file.len, limits.message
            )));
        }
        if first == [MAGIC[0]] {
            return Stored::open(file, limits).map(|stored| Self::Frame(Arc::new(stored)));
        }
        file.section(0, file.len, MAX_ALIGN).map(Self::Plain)
    }
}

impl Stored {
    fn open(file: Opened, limits: &Limits) -> Result<Self> {
        let front = Front::read(file.address_len()?, limits.segments, |offset, out| {
            file.read(to_u64(offset), out)
        })?;
        file.check_unchanged()?;
        let checked = !front.checksums();
        Ok(Self {
            checked: (0..front.segments()).map(|_| AtomicBool::new(checked)).collect(),
            file,
            front,
        })
    }

    /// The frame in a file that was written just now.
    pub(super) fn written(file: &File, path: &Path) -> Result<Self> {
        let opened = file.try_clone().and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|error| named(&error, path))?;
        Self::open(Opened::of(file, &metadata, path), &Limits::new().segments(usize::MAX))
    }

    pub(super) fn front(&self) -> &Front {
        &self.front
    }

    pub(super) fn len(&self) -> u64 {
        self.file.len
    }

    fn is_checked(&self, index: u64) -> Option<&AtomicBool> {
        self.checked.get(usize::try_from(index).ok()?)
    }
}

impl Store for Stored {
    fn entry(&self, index: u64) -> Result<Entry> {
        self.front.entry(index)
    }

    fn segment(&self, index: u64) -> Result<Bytes> {
        let entry = self.entry(index)?;
        let bytes = self.file.section(entry.offset, entry.len, self.front.align())?;
        if self.front.checksums() {
            compare(index, entry, crc32c(&[&bytes]))?;
            if let Some(checked) = self.is_checked(index) {
                checked.store(true, Ordering::Relaxed);
            }
        }
        Ok(bytes)
    }

    fn part(&self, index: u64, offset: usize, len: usize) -> Result<Bytes> {
        let entry = self.entry(index)?;
        let whole = offset == 0 && to_u64(len) == entry.len;
        let checked = self
            .is_checked(index)
            .is_some_and(|checked| checked.load(Ordering::Relaxed));
        if whole || !checked {
            return Ok(self.segment(index)?.slice(offset..offset + len));
        }
        self.file.section(entry.offset + to_u64(offset), to_u64(len), MAX_ALIGN)
    }

    fn check(&self, index: u64) -> Result<()> {
        let entry = self.entry(index)?;
        let Some(checked) = self
            .is_checked(index)
            .filter(|checked| !checked.load(Ordering::Relaxed))
        else {
            return Ok(());
        };
        let mut found = 0;
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < entry.len {
            let len = usize::try_from(entry.len - at).map_or(PIECE, |left| left.min(PIECE));
            self.file.read(entry.offset + at, &mut piece[..len])?;
            found = checksum::append(found, &piece[..len]);
            at += to_u64(len);
        }
        self.file.check_unchanged()?;
        compare(index, entry, found)?;
        checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn copy(&self, index: u64, offset: usize, out: &mut [u8]) -> Result<()> {
        let entry = self.entry(index)?;
        self.file.read(entry.offset + to_u64(offset), out)?;
        self.file.check_unchanged()
    }
}

fn compare(index: u64, entry: Entry, found: u32) -> Result<()> {
    if found == entry.checksum {
        return Ok(());
    }
    Err(frame::mismatch(&format!("segment {index}"), entry.checksum, found).at(entry.offset))
}

/// An open file, and what it was when it was opened.
#[derive(Debug)]
struct Opened {
    file: File,
    path: PathBuf,
    len: u64,
    modified: Option<SystemTime>,
}

impl Opened {
    fn new(path: &Path) -> Result<Self> {
        let failed = |error| named(&error, path);
        // Before it is opened: to open a pipe would wait for its other end.
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "is not a file")));
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        Ok(Self::of(file, &metadata, path))
    }

    fn of(file: File, metadata: &Metadata, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
            len: metadata.len(),
            modified: modified(metadata),
        }
    }

    /// The length, for what counts in addresses.
    fn address_len(&self) -> Result<usize> {
        usize::try_from(self.len).map_err(|_| Error::limit("a frame that exceeds the address space").at(8))
    }

    /// Bytes that are known to lie inside of what the file was, at an address that is a multiple of `align`.
    fn section(&self, offset: u64, len: u64, align: usize) -> Result<Bytes> {
        if len == 0 {
            return Ok(Bytes::new());
        }
        let wanted = usize::try_from(len).ok().and_then(|len| len.checked_add(align));
        let wanted = wanted.ok_or_else(|| Error::limit("a section exceeds the address space"))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(wanted)
            .map_err(|_| Error::limit(format!("no memory for {len} bytes of a file")))?;
        expect_filling(&mut bytes);
        let gap = gap(&bytes, align);
        bytes.resize(gap, 0);
        let mut reader = Reader {
            file: &self.file,
            offset,
        }
        .take(len);
        reader
            .read_to_end(&mut bytes)
            .map_err(|error| named(&error, &self.path))?;
        if to_u64(bytes.len() - gap) < len {
            return Err(self.cut_off(offset + to_u64(bytes.len() - gap)));
        }
        self.check_unchanged()?;
        Ok(Bytes::from(bytes).slice(gap..))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < out.len() {
            let at = offset + to_u64(filled);
            match read_at(&self.file, &mut out[filled..], at) {
                Ok(0) => return Err(self.cut_off(at)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(named(&error, &self.path)),
            }
        }
        Ok(())
    }

    fn cut_off(&self, at: u64) -> Error {
        Error::eof(format!(
            "{}: the file was cut off after it was opened",
            self.path.display()
        ))
        .at(at)
    }

    /// Whether the file is what it was, as far as its length and time say.
    fn check_unchanged(&self) -> Result<()> {
        let now = self.file.metadata().map_err(|error| named(&error, &self.path))?;
        if now.len() < self.len {
            return Err(self.cut_off(now.len()));
        }
        if now.len() == self.len && modified(&now) == self.modified {
            return Ok(());
        }
        let error = io::Error::other("was changed after it was opened");
        Err(named(&error, &self.path))
    }
}

/// Reads on from an offset.
struct Reader<'f> {
    file: &'f File,
    offset: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = read_at(self.file, out, self.offset)?;
        self.offset += to_u64(read);
        Ok(read)
    }
}

/// Not all systems know it.
fn modified(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}
