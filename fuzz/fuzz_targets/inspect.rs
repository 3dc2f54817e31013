//! Bytes inspected: no panic, and it lists the tensors that decoding finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_tensor::{Decoder, inspect};
use serde_tensor_fuzz::Value;

fuzz_target!(|message: &[u8]| {
    let inspected = inspect(message);
    let Ok((value, report)) = Decoder::new().from_slice_with_report::<Value>(message) else {
        return;
    };
    let inspected = inspected.expect("what can be read can be inspected");
    assert_eq!(inspected.tensors().len(), value.tensors());
    assert_eq!(report.len(), value.tensors());
    for (listed, decoded) in inspected.tensors().iter().zip(report.tensors()) {
        assert_eq!(listed.path(), decoded.path());
        assert_eq!(listed.dtype(), decoded.dtype());
        assert_eq!(listed.shape(), decoded.shape());
        assert_eq!(listed.device(), decoded.recorded());
    }
});
