//! Names of places in a value: `layers[3].weight`.

use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};

/// The longest key shown, in characters.
const SHOWN_KEY: usize = 64;

/// The way to an item. Ways to items of one container share what they have in common, so that a report of all tensors in a deep value
/// takes no more memory than the value.
#[derive(Clone, Default)]
pub(crate) struct Trail(Option<Arc<Node>>);

struct Node {
    before: Trail,
    step: Step,
}

/// One step on the way.
pub(crate) enum Step {
    Index(u64),
    Negative(i64),
    Bool(bool),
    Name(Box<str>),
    /// A name that is long or not made of letters, digits and `_`; its front.
    Odd(Box<str>),
    /// A key that is not shown: a float, a container, …
    Unknown,
}

impl Trail {
    /// The way to an item of the container at the end of this one.
    pub(crate) fn then(&self, step: Step) -> Self {
        Self(Some(Arc::new(Node {
            before: self.clone(),
            step,
        })))
    }
}

impl fmt::Display for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut nodes = Vec::new();
        let mut trail = self;
        while let Some(node) = &trail.0 {
            nodes.push(node);
            trail = &node.before;
        }
        for (index, node) in nodes.iter().rev().enumerate() {
            match &node.step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Negative(key) => write!(f, "[{key}]")?,
                Step::Bool(key) => write!(f, "[{key}]")?,
                Step::Odd(name) => write!(f, "[{name:?}]")?,
                Step::Unknown => f.write_str("[?]")?,
                Step::Name(name) => {
                    if index > 0 {
                        f.write_char('.')?;
                    }
                    f.write_str(name)?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Node {
    /// Without recursion, which a deep value would turn into a deep stack.
    fn drop(&mut self) {
        let mut before = self.before.0.take();
        while let Some(mut node) = before.and_then(Arc::into_inner) {
            before = node.before.0.take();
        }
    }
}

impl Step {
    /// The step to the value of a string key.
    pub(crate) fn key(key: &[u8]) -> Self {
        // A character takes at most four bytes, so this front shows as much as is shown.
        let front = &key[..key.len().min(4 * SHOWN_KEY + 4)];
        let name = String::from_utf8_lossy(front);
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if plain && name.chars().nth(SHOWN_KEY).is_none() {
            return Self::Name(name.into());
        }
        let mut shown: String = name.chars().take(SHOWN_KEY).collect();
        if shown.len() < key.len() && name.chars().nth(SHOWN_KEY).is_some() {
            shown.push('…');
        }
        Self::Odd(shown.into())
    }
}

/// A trail whose text is made when it is first asked for.
#[derive(Clone, Default)]
pub(crate) struct Path {
    trail: Trail,
    text: OnceLock<String>,
}

impl Path {
    pub(crate) fn as_str(&self) -> &str {
        self.text.get_or_init(|| self.trail.to_string())
    }
}

impl From<Trail> for Path {
    fn from(trail: Trail) -> Self {
        Self {
            trail,
            text: OnceLock::new(),
        }
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::{Step, Trail};

    #[test]
    fn steps_read_as_code_does() {
        let layers = Trail::default().then(Step::key(b"layers"));
        assert_eq!(
            layers.then(Step::Index(3)).then(Step::key(b"weight")).to_string(),
            "layers[3].weight"
        );
        assert_eq!(layers.then(Step::key(b"x y")).to_string(), "layers[\"x y\"]");
        assert_eq!(
            layers.then(Step::Negative(-1)).then(Step::Unknown).to_string(),
            "layers[-1][?]"
        );
        assert_eq!(Trail::default().to_string(), "");
    }

    #[test]
    fn a_long_key_shows_its_front() {
        let shown = Trail::default().then(Step::key(&vec![b'a'; 1_000_000])).to_string();
        assert_eq!(shown, format!("[\"{}…\"]", "a".repeat(64)));
    }

    #[test]
    fn a_long_trail_is_dropped_without_a_deep_stack() {
        let mut trail = Trail::default();
        for _ in 0..1_000_000 {
            trail = trail.then(Step::Bool(true));
        }
        drop(trail);
    }
}
