//! Bytes as a value of any type: no panic, one answer from every verb, and what was read is written and read again.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_tensor::scan::contains_tensor_dyn;
use serde_tensor_fuzz::Value;

fuzz_target!(|message: &[u8]| {
    let ignored = serde_tensor::from_slice::<IgnoredAny>(message);
    let Ok(value) = serde_tensor::from_slice::<Value>(message) else {
        return;
    };
    ignored.expect("what is read can be skipped");
    let shared: Value = serde_tensor::from_bytes(Bytes::copy_from_slice(message)).expect("from_bytes reads it too");
    assert_eq!(shared, value);
    let read: Value = serde_tensor::from_reader(message).expect("from_reader reads it too");
    assert_eq!(read, value);

    assert_eq!(contains_tensor_dyn(&value), value.tensors() > 0);
    let written = serde_tensor::to_vec(&value).expect("what was read can be written");
    let again: Value = serde_tensor::from_slice(&written).expect("what was written can be read");
    assert_eq!(again, value);
});
