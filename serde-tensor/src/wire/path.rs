//! Where in a value a byte of its body is: `layers[3].weight`.
//!
//! Encoding and decoding keep no path as they go, which would cost every element something. When one is wanted, for an
//! error, a warning or a report, the body is walked from its start to the offset in question.

use std::fmt::Write as _;

use super::read::{Cursor, Token};
use super::{ext, to_u64};

/// The longest key shown, in characters.
const SHOWN_KEY: usize = 64;

/// The path of the item that holds the byte at `target`, and the offset at which that item starts.
pub(crate) fn locate(body: &[u8], target: usize) -> (String, usize) {
    let mut walk = Walk::new(body);
    let start = walk.advance_past(target);
    (walk.path(), start)
}

/// The path of the item that would be written next to an unfinished body.
pub(crate) fn of_next(unfinished: &[u8]) -> String {
    let mut walk = Walk {
        cursor: Cursor::unfinished(unfinished),
        open: Vec::new(),
        started: false,
    };
    walk.advance_past(usize::MAX);
    walk.path()
}

/// A walk over a body that only goes forward, so that many ascending offsets cost one walk.
pub(crate) struct Walk<'b> {
    cursor: Cursor<'b>,
    open: Vec<Open>,
    started: bool,
}

/// A container on the way to the present item.
struct Open {
    kind: Kind,
    /// Its items; keys and values of a map each count.
    total: u64,
    /// How many of them were reached; the last of these is the present one.
    reached: u64,
    /// Where the key reached last starts.
    key: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    Map,
    Some,
}

impl<'b> Walk<'b> {
    pub(crate) fn new(body: &'b [u8]) -> Self {
        Self {
            cursor: Cursor::new(body, 0),
            open: Vec::new(),
            started: false,
        }
    }

    /// Goes on until the item that holds the byte at `target`; returns the offset at which that item starts.
    pub(crate) fn advance_past(&mut self, target: usize) -> usize {
        let mut start = self.cursor.position();
        while self.cursor.position() <= target {
            start = self.cursor.position();
            if self.step().is_none() {
                break;
            }
        }
        start
    }

    /// Goes on to the next tensor: the offset of its payload, and the payload.
    pub(crate) fn next_tensor(&mut self) -> Option<(usize, &'b [u8])> {
        loop {
            if let Token::Ext(ext::TENSOR, payload) = self.step()? {
                return Some((self.cursor.position() - payload.len(), payload));
            }
        }
    }

    /// The path of the item reached last.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        for open in &self.open {
            match open.kind {
                Kind::Array if open.reached > 0 => push_index(&mut path, open.reached - 1),
                // Keys and values take turns, and a key is named by the map that holds it.
                Kind::Map if open.reached > 0 && open.reached % 2 == 0 => {
                    push_key(&mut path, &self.cursor.bytes()[open.key..]);
                }
                // The container itself, none of whose items was reached.
                Kind::Array | Kind::Map | Kind::Some => {}
            }
        }
        path
    }

    /// Reaches the next item; `None` at the end of the value or of the bytes.
    fn step(&mut self) -> Option<Token<'b>> {
        self.reach()?;
        let token = self.cursor.token().ok()?;
        match token {
            Token::Array(len) => self.enter(Kind::Array, to_u64(len)),
            Token::Map(len) => self.enter(Kind::Map, to_u64(len).saturating_mul(2)),
            Token::Ext(ext::SOME, payload) => {
                self.cursor.rewind(self.cursor.position() - payload.len());
                self.enter(Kind::Some, 1);
            }
            _ => {}
        }
        Some(token)
    }

    /// Leaves the containers that are done and counts the next item.
    fn reach(&mut self) -> Option<()> {
        if !std::mem::replace(&mut self.started, true) {
            return Some(());
        }
        loop {
            let open = self.open.last_mut()?;
            if open.reached < open.total {
                open.reached += 1;
                if open.kind == Kind::Map && open.reached % 2 == 1 {
                    open.key = self.cursor.position();
                }
                return Some(());
            }
            self.open.pop();
        }
    }

    fn enter(&mut self, kind: Kind, total: u64) {
        self.open.push(Open {
            kind,
            total,
            reached: 0,
            key: 0,
        });
    }
}

/// `write!` to a `String` cannot fail.
fn push_index(path: &mut String, index: u64) {
    let _ = write!(path, "[{index}]");
}

fn push_key(path: &mut String, bytes: &[u8]) {
    match Cursor::new(bytes, 0).token() {
        Ok(Token::Str(key)) => push_name(path, &String::from_utf8_lossy(key)),
        Ok(Token::Unsigned(key)) => push_index(path, key),
        Ok(Token::Signed(key)) => {
            let _ = write!(path, "[{key}]");
        }
        Ok(Token::Bool(key)) => {
            let _ = write!(path, "[{key}]");
        }
        _ => path.push_str("[?]"),
    }
}

fn push_name(path: &mut String, name: &str) {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !plain || name.chars().nth(SHOWN_KEY).is_some() {
        let shown: String = name.chars().take(SHOWN_KEY).collect();
        let _ = write!(path, "[{shown:?}]");
        return;
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

#[cfg(test)]
mod tests {
    use super::{locate, of_next};

    // {"layers": [nil, {"weight": 5, 7: [true]}], "x y": 1}
    const BODY: &[u8] = b"\x82\xa6layers\x92\xc0\x82\xa6weight\x05\x07\x91\xc3\xa3x y\x01";

    fn path_of(byte: u8) -> String {
        let at = BODY.iter().rposition(|&b| b == byte).unwrap();
        locate(BODY, at).0
    }

    #[test]
    fn an_item_is_named_by_the_way_to_it() {
        assert_eq!(locate(BODY, 0).0, "");
        assert_eq!(path_of(0x92), "layers");
        assert_eq!(path_of(0xc0), "layers[0]");
        assert_eq!(path_of(0x05), "layers[1].weight");
        assert_eq!(path_of(0xc3), "layers[1][7][0]");
        assert_eq!(path_of(0x01), "[\"x y\"]");
        assert_eq!(path_of(b'w'), "layers[1]");
    }

    #[test]
    fn an_unfinished_body_names_what_comes_next() {
        assert_eq!(of_next(b""), "");
        assert_eq!(of_next(b"\x82\xa6layers"), "layers");
        assert_eq!(of_next(b"\x82\xa6layers\xdd\xff\xff\xff\xff\xc0"), "layers[1]");
        assert_eq!(of_next(b"\x82\xa6layers\x92\xc0\x81\xa6weight"), "layers[1].weight");
    }
}
