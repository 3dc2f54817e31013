//! A `tracing` subscriber that keeps this crate's device warnings, for counting them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// One warning: its fields by name, `message` among them.
pub(crate) type Warning = BTreeMap<&'static str, String>;

/// Runs `body` and returns its result with the device warnings of this thread.
pub(crate) fn warnings<R>(body: impl FnOnce() -> R) -> (R, Vec<Warning>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let result = tracing::subscriber::with_default(Keep(kept.clone()), body);
    let warnings = kept.lock().unwrap().clone();
    (result, warnings)
}

struct Keep(Arc<Mutex<Vec<Warning>>>);

impl Subscriber for Keep {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "serde_tensor::device" && *metadata.level() == Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Warning::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Fields(Warning);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
