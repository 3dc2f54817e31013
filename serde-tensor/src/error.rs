//! The one error type of the crate: a category, a place, a message.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing went wrong: enough to decide what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Category {
    /// Reading or writing failed; [`source`](StdError::source) is the `std::io::Error`.
    Io,
    /// The bytes are not a message: malformed MessagePack, frame or tensor descriptor.
    Syntax,
    /// The message is well formed but does not fit the type asked for, or the value cannot be written.
    Data,
    /// The message ended early.
    Eof,
    /// A limit of [`Limits`](crate::Limits) (or the address space) was reached.
    Limit,
    /// A device is not there, or a copy from a device was denied.
    Device,
    /// A tensor library refused: the value is of a kind that cannot travel, or an import failed.
    Backend,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Io => "I/O",
            Self::Syntax => "syntax",
            Self::Data => "data",
            Self::Eof => "end of input",
            Self::Limit => "limit",
            Self::Device => "device",
            Self::Backend => "backend",
        })
    }
}

/// An error of encoding or decoding.
///
/// It is one word wide. [`category`](Self::category) says what kind it is, [`offset`](Self::offset) and
/// [`path`](Self::path) say where.
///
/// ```
/// use serde_tensor::Category;
///
/// let bytes = serde_tensor::to_vec(&vec![("a", 1), ("b", 2)])?;
/// let error = serde_tensor::from_slice::<Vec<(String, bool)>>(&bytes).unwrap_err();
/// assert_eq!(error.category(), Category::Data);
/// assert_eq!(error.path(), Some("[0][1]"));
/// assert_eq!(error.offset(), Some(4));
/// assert_eq!(error.to_string(), "[0][1]: invalid type: integer `1`, expected a boolean, at byte 4");
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    category: Category,
    message: Cow<'static, str>,
    offset: Option<u64>,
    path: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// What kind of error it is.
    pub fn category(&self) -> Category {
        self.0.category
    }

    /// Where it was met: bytes from the start of the message. When decoding, the start of the element at fault.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The element at fault, such as `layers[3].weight`; `None` for the message as a whole.
    ///
    /// In compact messages fields have no names, so there it is an index: `[3]`.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref().filter(|path| !path.is_empty())
    }

    /// The message without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// An error of a tensor library, for implementers of [`TensorBackend`](crate::backend::TensorBackend).
    ///
    /// ```
    /// use serde_tensor::{Category, Error};
    ///
    /// assert_eq!(Error::backend("sparse tensors cannot travel").category(), Category::Backend);
    /// ```
    pub fn backend(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Category::Backend, message)
    }

    /// The same error with the error that caused it, which [`source`](StdError::source) then returns.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    #[cold]
    pub(crate) fn new(category: Category, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            category,
            message: message.into(),
            offset: None,
            path: None,
            source: None,
        }))
    }

    pub(crate) fn data(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Category::Data, message)
    }

    pub(crate) fn syntax(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Category::Syntax, message)
    }

    pub(crate) fn eof(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Category::Eof, message)
    }

    pub(crate) fn limit(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Category::Limit, message)
    }

    pub(crate) fn device(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Category::Device, message)
    }

    /// Adds the offset, unless a place nearer to the fault is already known.
    #[cold]
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds the path, unless one is already known.
    #[cold]
    pub(crate) fn within(mut self, path: impl FnOnce() -> String) -> Self {
        if self.0.path.is_none() {
            self.0.path = Some(path());
        }
        self
    }

    pub(crate) fn has_path(&self) -> bool {
        self.0.path.is_some()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path() {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(offset) = self.0.offset {
            write!(f, ", at byte {offset}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("category", &self.0.category)
            .field("message", &self.0.message);
        if let Some(path) = self.path() {
            out.field("path", &path);
        }
        if let Some(offset) = self.0.offset {
            out.field("offset", &offset);
        }
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        let category = match source.kind() {
            io::ErrorKind::UnexpectedEof => Category::Eof,
            _ => Category::Io,
        };
        Self::new(category, source.to_string()).with_source(source)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.category() {
            Category::Eof => io::ErrorKind::UnexpectedEof,
            Category::Io => error
                .0
                .source
                .as_ref()
                .and_then(|source| source.downcast_ref::<io::Error>())
                .map_or(io::ErrorKind::Other, io::Error::kind),
            Category::Syntax | Category::Data | Category::Limit => io::ErrorKind::InvalidData,
            Category::Device | Category::Backend => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

impl serde::ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::data(message.to_string())
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::data(message.to_string())
    }
}
