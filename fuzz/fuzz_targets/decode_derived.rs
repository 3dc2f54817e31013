//! Bytes as derived types: no panic, and what was read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_tensor::{Decoder, Encoder, Plan, contains_tensor};
use serde_tensor_fuzz::{Borrowing, Message};

fuzz_target!(|message: &[u8]| {
    if let Ok((value, rest)) = Decoder::new().take_from_slice::<Message>(message) {
        assert!(rest.len() < message.len());
        assert!(contains_tensor(&value));
        let compact = Encoder::new().compact(true).to_vec(&value).expect("it can be written");
        let again: Message = serde_tensor::from_slice(&compact).expect("what was written can be read");
        assert_eq!(again, value);
    }
    if let Ok(value) = serde_tensor::from_slice::<Borrowing>(message) {
        let mut written = Vec::new();
        let plan = Plan::new(&value).expect("it can be planned");
        plan.write_to(&mut written).expect("a vector takes all");
        assert_eq!(written.len(), plan.len());
        let again: Borrowing = serde_tensor::from_slice(&written).expect("what was written can be read");
        assert_eq!(again, value);
    }
});
