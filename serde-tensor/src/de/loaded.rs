//! The segments of a message that is not in memory as a whole, as far as a call read them.

use std::cell::OnceCell;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::wire::store::Store;

/// Segments, each read when it is first asked for, and kept until the call ends.
pub(crate) struct Loaded {
    store: Arc<dyn Store>,
    segments: Vec<OnceCell<Bytes>>,
}

impl Loaded {
    /// None of the `count` segments of a store.
    pub(crate) fn new(store: Arc<dyn Store>, count: usize) -> Self {
        Self {
            store,
            segments: vec![OnceCell::new(); count],
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// A whole segment, held against its checksum.
    pub(super) fn segment(&self, index: u64) -> Result<&Bytes> {
        let place = usize::try_from(index).ok().and_then(|index| self.segments.get(index));
        let place = place.ok_or_else(|| {
            let count = self.segments.len();
            Error::syntax(format!("a tensor names segment {index} of {count}"))
        })?;
        match place.get() {
            Some(segment) => Ok(segment),
            None => {
                let segment = self.store.segment(index)?;
                Ok(place.get_or_init(|| segment))
            }
        }
    }
}
