//! The walk over the tensors of a value.

use std::ops::Range;

use super::{Backend, Slice, Source};
use crate::backend::{Description, HostBytes, TensorBackend};
use crate::call::encode::Key;
use crate::error::Result;
use crate::tensor::Element;

/// Is shown each tensor of a value, in order, borrowed for as long as the value is.
pub struct TensorVisitor<'a, 'v> {
    visit: Visit<'a, 'v>,
    /// How many types deeper it goes.
    depth: usize,
}

/// What is done with each tensor.
enum Visit<'a, 'v> {
    Show(&'v mut dyn FnMut(Visited<'a>) -> Result<()>),
    /// Only where its bytes lie, if they may share their place with others', and how many they are; only of tensors of which that is
    /// quickly known.
    Weigh(&'v mut dyn FnMut(Option<Range<usize>>, usize) -> Result<()>),
}

/// A tensor that was shown.
pub(crate) struct Visited<'a> {
    pub(crate) key: Key,
    pub(crate) description: Description<'a>,
    pub(crate) bytes: Lending<'a>,
}

/// A tensor's bytes, or where to ask for them: most small tensors are not asked.
pub(crate) enum Lending<'a> {
    AtHand(HostBytes<'a>),
    Asked(&'a dyn Lend),
}

/// The half of a tensor that lends its bytes, as an object.
pub(crate) trait Lend {
    fn lend(&self) -> Result<HostBytes<'_>>;
}

impl<T: TensorBackend> Lend for T {
    fn lend(&self) -> Result<HostBytes<'_>> {
        self.host_bytes()
    }
}

impl<'a> Lending<'a> {
    pub(crate) fn get(self) -> Result<HostBytes<'a>> {
        match self {
            Self::AtHand(bytes) => Ok(bytes),
            Self::Asked(tensor) => tensor.lend(),
        }
    }
}

impl Visited<'_> {
    /// The length of the data in bytes, if the description makes sense and bytes that are at hand and lent are as many.
    pub(crate) fn consistent_len(&self) -> Option<usize> {
        let len = self.description.data_len().ok()?;
        let consistent = match &self.bytes {
            Lending::AtHand(bytes) => bytes.lent(len, None).is_ok(),
            Lending::Asked(_) => true,
        };
        consistent.then_some(len)
    }
}

impl<'a, 'v> TensorVisitor<'a, 'v> {
    /// A visitor that goes `depth` types deep.
    pub(crate) fn new(depth: usize, visit: &'v mut dyn FnMut(Visited<'a>) -> Result<()>) -> Self {
        Self {
            visit: Visit::Show(visit),
            depth,
        }
    }

    /// A visitor that is told where the bytes of each tensor are, if others may share them, and how many they are. Tensors for which a backend
    /// would have to be asked at length are passed over.
    pub(crate) fn weighing(depth: usize, weigh: &'v mut dyn FnMut(Option<Range<usize>>, usize) -> Result<()>) -> Self {
        Self {
            visit: Visit::Weigh(weigh),
            depth,
        }
    }

    /// Visits the fields of a type, which may be recursive.
    ///
    /// Of a value that nests deeper than the visitor goes, what lies deeper is passed over: serializing it is what refuses it, with its path.
    pub fn nested(&mut self, visit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Ok(());
        };
        self.depth = depth;
        let visited = visit(self);
        self.depth += 1;
        visited
    }

    /// Shows a tensor, unless it fails: serializing it then fails too, and can say where in the value it is.
    pub fn leaf<T: TensorBackend>(&mut self, tensor: &'a T) -> Result<()> {
        let show = match &mut self.visit {
            Visit::Show(show) => show,
            Visit::Weigh(weigh) => {
                return tensor.weight().map_or(Ok(()), |range| {
                    let len = range.len();
                    weigh(Some(range), len)
                });
            }
        };
        let Ok(description) = tensor.describe() else {
            return Ok(());
        };
        let bytes = if description.device.is_cpu() {
            Lending::Asked(tensor)
        } else {
            // Now, in the order in which they will be read: those of a device may leave it together.
            let Ok(bytes) = tensor.host_bytes() else {
                return Ok(());
            };
            Lending::AtHand(bytes)
        };
        show(Visited {
            key: Backend(tensor).key(),
            description,
            bytes,
        })
    }

    /// Shows elements in a row.
    pub fn slice<E: Element>(&mut self, elements: &'a [E]) -> Result<()> {
        let show = match &mut self.visit {
            Visit::Show(show) => show,
            Visit::Weigh(weigh) => return weigh(None, size_of_val(elements)),
        };
        show(Visited {
            key: Slice(elements).key(),
            description: Description::new(E::DTYPE, &[elements.len()]),
            bytes: Lending::AtHand(HostBytes::elements(elements)),
        })
    }

    /// Shows whatever is like a tensor, unless it fails, as [`leaf`](Self::leaf).
    pub(crate) fn source<S: Source>(&mut self, source: &'a S) -> Result<()> {
        let show = match &mut self.visit {
            Visit::Show(show) => show,
            Visit::Weigh(weigh) => {
                return source
                    .at_hand()
                    .map_or(Ok(()), |at| weigh(Some(at.range()), at.bytes.len()));
            }
        };
        let (Ok(description), Ok(bytes)) = (source.describe(), source.host_bytes()) else {
            return Ok(());
        };
        show(Visited {
            key: source.key(),
            description,
            bytes: Lending::AtHand(bytes),
        })
    }
}
