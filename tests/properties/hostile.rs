//! Bytes nobody wrote, and bytes somebody wrote with a few of them changed.

use proptest::collection::vec;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_tensor::{Decoder, Tensor, TensorView, inspect};

use crate::values::{Tree, encoders, trees};

fn read(bytes: &[u8]) {
    let slice = serde_tensor::from_slice::<Tree>(bytes);
    let shared = serde_tensor::from_bytes::<Tree>(bytes.to_vec().into());
    assert_eq!(slice.is_ok(), shared.is_ok());
    if let (Ok(slice), Ok(shared)) = (slice, shared) {
        assert_eq!(slice, shared);
        // What was read can be sent.
        let again = serde_tensor::to_vec(&slice).unwrap();
        assert_eq!(serde_tensor::from_slice::<Tree>(&again).unwrap(), slice);
    }
    let _ = serde_tensor::from_slice::<serde_json::Value>(bytes);
    let _ = serde_tensor::from_slice::<Vec<TensorView<'_>>>(bytes);
    let _ = serde_tensor::from_slice::<Option<Tensor>>(bytes);
    let _ = serde_tensor::from_reader::<_, Tree>(bytes);
    let _ = Decoder::new().take_from_slice::<IgnoredAny>(bytes);
    let _ = inspect(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200), frame in any::<bool>()) {
        read(&bytes);
        if frame {
            read(&[b"\xC1STN\x01\x00\x06\x00", &bytes[..]].concat());
        }
    }

    #[test]
    fn changed_messages_never_panic(
        value in trees(),
        encoder in encoders(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = encoder.align(16).to_vec(&value).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read(&bytes);
    }
}
