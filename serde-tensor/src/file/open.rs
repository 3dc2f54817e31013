//! A file that values are decoded from.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::stored::Content;
use crate::de::{Deserializer, Loaded};
use crate::decoder::{self, Decoder};
use crate::device::Report;
use crate::error::Result;
use crate::inspect::{Inspection, inspect_body};
use crate::wire::store::Store;
use crate::wire::to_u64;

/// A message in an open file, of which only what is asked for is read.
///
/// Opening reads the structure: the body with the ordinary fields and the descriptions of tensors, and the table of segments. A value is decoded from it
/// as often as wanted; tensors in segments are read while that is done, each into memory of its own, and those in fields of type
/// [`Lazy`](crate::Lazy) when they are asked for. [`from_reader`](crate::from_reader) reads a whole file at once, into one buffer.
///
/// ```
/// use serde_tensor::{Lazy, Tensor, TensorDeserialize, TensorSerialize};
///
/// #[derive(TensorSerialize, TensorDeserialize)]
/// # #[tensor(crate = "serde_tensor")]
/// struct Checkpoint {
///     step: u64,
///     #[tensor]
///     weights: Lazy<Tensor>,
/// }
///
/// # let folder = std::env::temp_dir().join(format!("serde-tensor-open-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("checkpoint.st");
/// let weights = Lazy::new(Tensor::from_vec(vec![0.5f32; 1000], &[10, 100])?)?;
/// serde_tensor::save(&path, &Checkpoint { step: 7, weights })?;
///
/// let file = serde_tensor::open(&path)?;
/// let checkpoint: Checkpoint = file.read()?;
/// assert_eq!(checkpoint.weights.shape(), [10, 100]); // nothing of the weights was read yet
/// assert_eq!(checkpoint.weights.get()?.elements::<f32>()?[0], 0.5);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), serde_tensor::Error>(())
/// ```
///
/// # A file that changes
///
/// [`save`](crate::save) puts a new file in the place of the old one, which this one goes on reading. A file that is written to in place is another matter:
/// each read compares its length and time of change with what they were, and is an error when they differ; tensors are held against their checksums
/// when they are first read. A change that shows in neither is not seen.
#[derive(Clone, Debug)]
pub struct MessageFile {
    content: Content,
    decoder: Decoder,
}

/// Opens a file that holds one message, and reads its structure.
///
/// # Errors
///
/// As [`Decoder::open`].
pub fn open<P: AsRef<Path>>(path: P) -> Result<MessageFile> {
    Decoder::new().open(path)
}

/// Reads the descriptions of all tensors in a file, and no tensor's data: as [`inspect`](crate::inspect).
///
/// # Errors
///
/// As [`open`] and [`inspect`](crate::inspect).
pub fn inspect_file<P: AsRef<Path>>(path: P) -> Result<Inspection> {
    open(path)?.inspect()
}

impl Decoder {
    /// Opens a file that holds one message, and reads its structure. What is [read](MessageFile::read) from it is decoded with these options.
    ///
    /// # Errors
    ///
    /// `Io` when there is no such file or it cannot be read; `Syntax`, `Eof` or `Limit` when what it holds is not one whole message.
    pub fn open<P: AsRef<Path>>(&self, path: P) -> Result<MessageFile> {
        Ok(MessageFile {
            content: Content::open(path.as_ref(), &self.options().limits)?,
            decoder: self.clone(),
        })
    }
}

impl MessageFile {
    /// Decodes a value.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category); `Io` also when the file was changed after it was opened, and `Eof` when it was cut off.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(self.decode(false)?.0)
    }

    /// [`read`](Self::read), and what was decided for each tensor that was read.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_with_report<T: DeserializeOwned>(&self) -> Result<(T, Report)> {
        self.decode(true)
    }

    /// The descriptions of all tensors, without reading their data.
    ///
    /// # Errors
    ///
    /// As [`inspect`](crate::inspect).
    pub fn inspect(&self) -> Result<Inspection> {
        let limits = &self.decoder.options().limits;
        match &self.content {
            Content::Plain(message) => inspect_body(message, 0, None, limits),
            Content::Frame(stored) => {
                let front = stored.front();
                inspect_body(front.body(), front.body_offset(), Some(front.segments()), limits)
            }
        }
    }

    /// The length of the message in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a message is never empty")]
    pub fn len(&self) -> u64 {
        match &self.content {
            Content::Plain(message) => to_u64(message.len()),
            Content::Frame(stored) => stored.len(),
        }
    }

    fn decode<T: DeserializeOwned>(&self, record: bool) -> Result<(T, Report)> {
        let stored = match &self.content {
            Content::Plain(message) if record => return self.decoder.from_bytes_with_report(message.clone()),
            Content::Plain(message) => return Ok((self.decoder.from_bytes(message.clone())?, Report::default())),
            Content::Frame(stored) => stored,
        };
        let front = stored.front();
        let loaded = Loaded::new(Arc::clone(stored) as Arc<dyn Store>, front.segments());
        let size = usize::try_from(stored.len()).unwrap_or(usize::MAX);
        let options = self.decoder.shared_options();
        let (body, offset) = (front.body(), front.body_offset());
        decoder::read(Deserializer::open_stored(body, offset, size, &loaded, options, record))
    }
}
