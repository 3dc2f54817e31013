//! What a tensor that is read later needs of the call in which its description was read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

use super::{Call, Context, SharedOptions, Whole, context, effective, ended, with_stack};
use crate::device::{FieldDevice, Site};
use crate::error::{Error, Result};
use crate::wire::checksum::crc32c;
use crate::wire::frame;
use crate::wire::store::Store;

/// Where the data of a tensor is that the deserializer did not read.
pub(crate) struct Deferred {
    /// The address of the tensor's description.
    pub(crate) at: usize,
    pub(crate) place: DeferredPlace,
}

pub(crate) enum DeferredPlace {
    /// In memory, and not held against the checksum yet.
    Memory(Arc<Check>),
    /// At an offset of a segment of a store.
    Store(Arc<dyn Store>, u64, usize),
}

/// A segment's checksum, for whoever uses the segment first.
#[derive(Debug)]
pub(crate) struct Check {
    index: u64,
    stated: u32,
    done: AtomicBool,
}

impl Check {
    pub(crate) fn new(index: u64, stated: u32) -> Self {
        Self {
            index,
            stated,
            done: AtomicBool::new(false),
        }
    }

    pub(crate) fn run(&self, segment: &[u8]) -> Result<()> {
        if self.done.load(Ordering::Relaxed) {
            return Ok(());
        }
        let found = crc32c(&[segment]);
        if found != self.stated {
            return Err(frame::mismatch(&format!("segment {}", self.index), self.stated, found));
        }
        self.done.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// What the call and the fields around a tensor say of where it is to land.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    options: SharedOptions,
    field: FieldDevice,
    site: Option<&'static Site>,
}

impl Remembered {
    /// Of the tensor whose description is at the address, or came from elsewhere.
    pub(crate) fn of(at: Option<usize>) -> Self {
        let remembered = with_stack(|stack| {
            let base = stack.frames.last().map_or(0, |frame| frame.base);
            let sites = stack.sites.get(base..).unwrap_or(&[]);
            Self {
                options: stack.frame(at).map(|frame| frame.options.clone()).unwrap_or_default(),
                field: effective(sites),
                site: sites.last().copied(),
            }
        });
        remembered.unwrap_or_default()
    }

    /// Makes something of bytes, in a call of its own that is as the remembered one was.
    pub(crate) fn call<R>(&self, bytes: &Bytes, make: impl FnOnce(Context) -> Result<R>) -> Result<R> {
        let mut call = Call::enter(
            self.options.clone(),
            Some(bytes.clone()),
            &[],
            0,
            Whole::Bytes(bytes),
            false,
        );
        let result = context(None).ok_or_else(ended).and_then(|mut context| {
            (context.field, context.site) = (self.field, self.site);
            make(context)
        });
        call.finish()?;
        result.map_err(|error| self.name(error))
    }

    /// The error with the field that the tensor is in.
    pub(crate) fn name(&self, error: Error) -> Error {
        match self.site {
            Some(site) => error.within(|| site.to_string()),
            None => error,
        }
    }
}

impl Default for Remembered {
    fn default() -> Self {
        Self {
            options: SharedOptions::default(),
            field: FieldDevice::Auto,
            site: None,
        }
    }
}

/// What was deferred of the tensor whose description is at the address.
pub(crate) fn take_deferred(at: Option<usize>) -> Option<Deferred> {
    let at = at?;
    with_stack(|stack| {
        let frame = stack.frames.iter_mut().rfind(|frame| frame.body.contains(&at))?;
        frame.rare.as_mut()?.deferred.take_if(|deferred| deferred.at == at)
    })
    .flatten()
}
