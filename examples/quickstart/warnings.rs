//! Shows the library's warnings and counts them.
//!
//! A program would use `tracing-subscriber`; it is written out here so that the example builds in seconds.

use std::fmt::{Debug, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::Result;

/// The warnings of this process.
pub(crate) struct Warned(Arc<AtomicUsize>);

impl Warned {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Prints the warnings of this process from now on.
pub(crate) fn listen(who: &'static str) -> Result<Warned> {
    let count = Arc::new(AtomicUsize::new(0));
    tracing::subscriber::set_global_default(Listener {
        who,
        count: Arc::clone(&count),
    })?;
    Ok(Warned(count))
}

struct Listener {
    who: &'static str,
    count: Arc<AtomicUsize>,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "serde_tensor::device" && *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut text = Text::default();
        event.record(&mut text);
        println!("WARN {}: {}{}", self.who, text.message, text.fields);
    }

    // There are no spans to follow.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event as a line of text.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            // Writing to a `String` does not fail.
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}
