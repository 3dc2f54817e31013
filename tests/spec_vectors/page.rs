//! The vectors on a page of the specification: a heading, then fenced blocks.

use std::path::PathBuf;

/// One heading of the third level and the blocks under it.
pub(crate) struct Vector {
    /// `V12`: the letter is the section's.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Language and text of each fenced block, in order.
    blocks: Vec<(String, String)>,
}

impl Vector {
    /// All vectors of a page whose number begins with one of `letters`; there must be some.
    pub(crate) fn of(page: &str, letters: &str) -> Vec<Self> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/spec").join(page);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let vectors: Vec<Self> = parse(&text)
            .into_iter()
            .filter(|vector| letters.contains(&vector.id[..1]))
            .collect();
        assert!(!vectors.is_empty(), "no vectors {letters} in {page}");
        vectors
    }

    /// The only block of a language.
    pub(crate) fn block(&self, language: &str) -> Option<&str> {
        let mut blocks = self.blocks.iter().filter(|(l, _)| l == language);
        let (_, text) = blocks.next()?;
        assert!(blocks.next().is_none(), "{}: two blocks {language}", self.id);
        Some(text)
    }

    /// The bytes of each `hex` block, in order.
    pub(crate) fn each_bytes(&self) -> Vec<Vec<u8>> {
        let hex = self.blocks.iter().filter(|(language, _)| language == "hex");
        hex.map(|(_, text)| unhex(text)).collect()
    }

    /// The bytes of the only `hex` block.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        unhex(self.block("hex").unwrap_or_else(|| panic!("{}: no hex", self.id)))
    }
}

fn parse(text: &str) -> Vec<Vector> {
    let mut vectors: Vec<Vector> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => {
                let block = open.take().unwrap();
                if let Some(vector) = vectors.last_mut() {
                    vector.blocks.push(block);
                }
            }
            (Some((_, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, Some(language)) => open = Some((language.to_owned(), String::new())),
            (None, None) => {
                if let Some((id, title)) = line.strip_prefix("### ").and_then(|h| h.split_once(". ")) {
                    let (id, title) = (id.to_owned(), title.to_owned());
                    assert!(vectors.iter().all(|v| v.id != id), "{id} is there twice");
                    vectors.push(Vector {
                        id,
                        title,
                        blocks: Vec::new(),
                    });
                }
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    vectors
}

/// Hex digits in pairs; white space between them is ignored.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "half a byte in {text}");
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.iter().map(byte).collect()
}
