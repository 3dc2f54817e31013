//! What happened in a call, for its end: the report, the warnings, the error that serde may have hidden.

use std::mem;

use super::position_in;
use crate::device::{Decision, Device, Report, Site, TensorReport, Transfer, warn};
use crate::error::Error;
use crate::path::Path;
use crate::tensor::{DType, Shape};
use crate::wire::path::Walk;

/// What happened in a call.
#[derive(Default)]
pub(super) struct Log {
    pub(super) landed: Vec<Landed>,
    pub(super) warnings: Vec<Warning>,
    /// How many more there were.
    pub(super) unsaid: usize,
    pub(super) failure: Option<(Error, Option<usize>)>,
    /// The last error that a tensor gave to serde as text, which another variant may still mend.
    pub(super) passing: Option<Error>,
}

/// A tensor that was placed.
pub(crate) struct Landed {
    /// The address of its description.
    pub(crate) at: Option<usize>,
    pub(crate) site: Option<&'static Site>,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    pub(crate) recorded: Device,
    pub(crate) decision: Decision,
    pub(crate) bytes: usize,
    pub(crate) transfer: Transfer,
}

pub(super) struct Warning {
    pub(super) at: Option<usize>,
    pub(super) site: Option<&'static Site>,
    pub(super) wanted: Device,
    pub(super) device: Device,
    pub(super) bytes: usize,
    pub(super) why: Option<String>,
}

/// How many warnings one call gives. A message from outside can name as many devices as it has tensors.
const MOST_WARNINGS: usize = 64;

impl Log {
    pub(super) fn push(&mut self, warning: Warning) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.unsaid += 1;
        }
    }

    /// Gives the call's warnings, in the order of the message.
    pub(super) fn warn(&mut self, body: &[u8], depth: usize) {
        self.warnings.sort_by_key(|warning| warning.at);
        let mut walk = Walk::new(body, depth);
        for warning in &self.warnings {
            let position = warning.at.and_then(|at| position_in(body, at));
            let path = position.map(|position| {
                walk.advance_past(position);
                walk.trail().to_string()
            });
            warning.emit(path.as_deref());
        }
        if self.unsaid > 0 {
            warn::more(self.unsaid);
        }
    }
}

impl Warning {
    pub(super) fn emit(&self, path: Option<&str>) {
        let why = self.why.as_deref();
        warn::fallback(path, self.site, self.wanted, self.device, self.bytes, why);
    }
}

/// The report of a call: one row a tensor, in the order of the message.
pub(super) fn report(body: &[u8], depth: usize, mut landed: Vec<Landed>) -> Report {
    landed.sort_by_key(|landed| landed.at);
    // An untagged enum reads a tensor once for each variant it tries; the last is the one that was kept.
    let mut rows: Vec<TensorReport> = Vec::with_capacity(landed.len());
    let mut walk = Walk::new(body, depth);
    let mut last = None;
    for landed in landed {
        if landed.at.is_some() && landed.at == last {
            if let Some(row) = rows.last_mut() {
                let path = mem::take(&mut row.path);
                *row = landed.into_row(path);
            }
            continue;
        }
        last = landed.at;
        let path = match landed.at.and_then(|at| position_in(body, at)) {
            Some(position) => {
                walk.advance_past(position);
                walk.trail().into()
            }
            None => Path::default(),
        };
        rows.push(landed.into_row(path));
    }
    Report::new(rows)
}

impl Landed {
    pub(super) fn into_row(self, path: Path) -> TensorReport {
        TensorReport {
            path,
            site: self.site,
            dtype: self.dtype,
            shape: self.shape,
            recorded: self.recorded,
            wanted: self.decision.wanted,
            device: self.decision.device,
            bytes: self.bytes,
            rule: self.decision.rule,
            transfer: self.transfer,
        }
    }
}
