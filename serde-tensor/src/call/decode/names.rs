//! Which segments of a message are named more than once: only those are shared.

use crate::wire::descriptor::Place;
use crate::wire::tensors;

/// How long a body may be, in bytes for each segment, to be worth the look: one that is long for other reasons than its
/// tensors is not.
const WORTH: usize = 128;

/// Which segments are named more than once; `None` where nobody looked.
pub(super) struct Names(Option<Vec<Name>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Never,
    Once,
    Again,
}

impl Names {
    /// Looks through a body.
    pub(super) fn count(body: &[u8], segments: usize) -> Self {
        if body.len() / WORTH > segments {
            return Self(None);
        }
        let mut names = vec![Name::Never; segments];
        let counted = tensors::each(body, |_, place| {
            if let Place::Segment { index, .. } = place
                && let Some(name) = usize::try_from(index).ok().and_then(|index| names.get_mut(index))
            {
                *name = match name {
                    Name::Never => Name::Once,
                    Name::Once | Name::Again => Name::Again,
                };
            }
            Ok(())
        });
        Self(counted.is_ok().then_some(names))
    }

    /// Whether a segment is named more than once, or may be.
    pub(super) fn again(&self, index: u64) -> bool {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let name = self.0.as_ref().and_then(|names| names.get(index));
        name != Some(&Name::Once)
    }
}
