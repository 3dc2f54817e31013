//! Values sent with any options arrive as they were, from one pass and from a plan.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use serde_tensor::{Encoder, contains_tensor, inspect, scan};
use serde_tensor_fuzz::Message;

#[derive(Arbitrary, Debug)]
struct Options {
    compact: bool,
    framed: bool,
    checksums: bool,
    log2_align: u8,
    inline_limit: u16,
}

impl Options {
    fn encoder(&self) -> Encoder {
        Encoder::new()
            .compact(self.compact)
            .framed(self.framed)
            .checksums(self.checksums)
            .align(1 << (4 + self.log2_align % 13))
            .inline_limit(self.inline_limit.into())
    }
}

fuzz_target!(|input: (Options, Message)| {
    let (options, message) = input;
    let encoder = options.encoder();
    let single = encoder.to_vec(&message).expect("a single pass writes it");
    let plan = encoder.plan(&message).expect("a plan is made");
    let mut planned = Vec::new();
    plan.write_to(&mut planned).expect("a vector takes all");
    assert_eq!(planned.len(), plan.len());
    for bytes in [&single, &planned] {
        let arrived: Message = serde_tensor::from_slice(bytes).expect("it can be read");
        assert_eq!(arrived, message);
        inspect(bytes).expect("it can be inspected");
        assert!(serde_tensor::from_slice::<Message>(&bytes[..bytes.len() - 1]).is_err());
    }
    assert_eq!(contains_tensor(&message), scan::contains_tensor_dyn(&message));
});
