//! Where in a value a byte of its body is: `layers[3].weight`.
//!
//! Encoding and decoding keep no path as they go, which would cost every element something. When one is wanted, for an
//! error, a warning or a report, the body is walked from its start to the offset in question.

use super::read::{Cursor, Token};
use super::{ext, to_u64};
use crate::path::{Step, Trail};

/// How deep a walk goes, unless it is told. What lies deeper has the path of the container at this depth.
const DEEPEST: usize = 4096;

/// The path of the item that holds the byte at `target`, and the offset at which that item starts.
pub(crate) fn locate(body: &[u8], target: usize) -> (String, usize) {
    let mut walk = Walk::new(body, DEEPEST);
    let start = walk.advance_past(target);
    (walk.trail().to_string(), start)
}

/// The path of the item that would be written next to an unfinished body.
pub(crate) fn of_next(unfinished: &[u8]) -> String {
    let mut walk = Walk::over(Cursor::unfinished(unfinished), DEEPEST);
    walk.advance_past(usize::MAX);
    walk.trail().to_string()
}

/// A walk over a body that only goes forward, so that many ascending offsets cost one walk.
pub(crate) struct Walk<'b> {
    cursor: Cursor<'b>,
    open: Vec<Open>,
    started: bool,
    deepest: usize,
    /// Where the innermost ext `0x53` around the present item ends.
    end: usize,
    /// That ext does not hold what it says, which was just seen.
    spoiled: bool,
    fault: Option<Fault>,
}

/// Why a walk did not look into something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The container at this position lies deeper than the walk goes.
    Depth(usize),
    /// The ext `0x53` that ends at this position does not hold one value.
    Some(usize),
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
    /// The end of the ext `0x53` around it.
    outer_end: usize,
    /// The trail to the present item, once it was asked for.
    trail: Option<Trail>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    Map,
    Some,
}

impl<'b> Walk<'b> {
    pub(crate) fn new(body: &'b [u8], deepest: usize) -> Self {
        Self::over(Cursor::new(body, 0), deepest)
    }

    fn over(cursor: Cursor<'b>, deepest: usize) -> Self {
        Self {
            cursor,
            open: Vec::new(),
            started: false,
            deepest,
            end: usize::MAX,
            spoiled: false,
            fault: None,
        }
    }

    /// What the walk did not look into first.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
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

    /// The trail to the item reached last.
    pub(crate) fn trail(&mut self) -> Trail {
        // Trails to the containers around it are made once for all their items.
        let known = self.open.iter().rposition(|open| open.trail.is_some());
        let mut trail = known
            .and_then(|known| self.open[known].trail.clone())
            .unwrap_or_default();
        for open in &mut self.open[known.map_or(0, |known| known + 1)..] {
            if let Some(step) = open.step(self.cursor.bytes()) {
                trail = trail.then(step);
            }
            open.trail = Some(trail.clone());
        }
        trail
    }

    /// Reaches the next item; `None` at the end of the value or of the bytes.
    fn step(&mut self) -> Option<Token<'b>> {
        self.reach()?;
        let start = self.cursor.position();
        let token = match self.cursor.token() {
            Ok(token) if self.cursor.position() <= self.end => token,
            Err(_) if self.end == usize::MAX => return None,
            // What is in an ext is not what it says: the next step goes on behind it.
            _ => {
                self.fault.get_or_insert(Fault::Some(self.end));
                self.spoiled = true;
                return Some(Token::Nil);
            }
        };
        let (kind, total) = match token {
            Token::Array(len) => (Kind::Array, to_u64(len)),
            Token::Map(len) => (Kind::Map, to_u64(len).saturating_mul(2)),
            Token::Ext(ext::SOME, _) => (Kind::Some, 1),
            _ => return Some(token),
        };
        if self.open.len() >= self.deepest {
            self.fault.get_or_insert(Fault::Depth(start));
            self.cursor.rewind(start);
            self.cursor.skip().ok()?;
            return Some(token);
        }
        let outer_end = self.end;
        if let Token::Ext(_, payload) = token {
            self.end = self.cursor.position();
            self.cursor.rewind(self.end - payload.len());
        }
        self.open.push(Open {
            kind,
            total,
            reached: 0,
            key: 0,
            outer_end,
            trail: None,
        });
        Some(token)
    }

    /// Leaves the containers that are done and counts the next item.
    fn reach(&mut self) -> Option<()> {
        if !std::mem::replace(&mut self.started, true) {
            return Some(());
        }
        if std::mem::take(&mut self.spoiled) {
            self.leave_some();
        }
        loop {
            let open = self.open.last_mut()?;
            if open.reached < open.total {
                open.reached += 1;
                open.trail = None;
                if open.kind == Kind::Map && open.reached % 2 == 1 {
                    open.key = self.cursor.position();
                }
                return Some(());
            }
            if open.kind == Kind::Some {
                self.leave_some();
            } else {
                self.open.pop();
            }
        }
    }

    /// Leaves the innermost ext `0x53`, whose payload should end here.
    fn leave_some(&mut self) {
        if self.cursor.position() != self.end {
            self.fault.get_or_insert(Fault::Some(self.end));
            self.cursor.rewind(self.end);
        }
        while let Some(open) = self.open.pop() {
            if open.kind == Kind::Some {
                self.end = open.outer_end;
                break;
            }
        }
    }
}

impl Open {
    /// The step from the container to its present item; `None` where that has no name of its own.
    fn step(&self, body: &[u8]) -> Option<Step> {
        match self.kind {
            Kind::Array if self.reached > 0 => Some(Step::Index(self.reached - 1)),
            // Keys and values take turns, and a key is named by the map that holds it.
            Kind::Map if self.reached > 0 && self.reached.is_multiple_of(2) => {
                Some(match Cursor::new(&body[self.key..], 0).token() {
                    Ok(Token::Str(key)) => Step::key(key),
                    Ok(Token::Unsigned(key)) => Step::Index(key),
                    Ok(Token::Signed(key)) => Step::Negative(key),
                    Ok(Token::Bool(key)) => Step::Bool(key),
                    _ => Step::Unknown,
                })
            }
            // The container itself, none of whose items was reached.
            Kind::Array | Kind::Map | Kind::Some => None,
        }
    }
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
