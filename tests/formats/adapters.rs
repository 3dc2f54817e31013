//! serde's adapters around this crate's `Serializer` and `Deserializer`.

use serde::{Deserialize, Serialize};
use serde_tensor::{Deserializer, Encoder, Serializer, Tensor, TensorView, inspect};

use crate::{Rollout, ramp, rollouts};

#[test]
fn erased_serde_writes_and_reads() {
    for value in rollouts() {
        let mut serializer = Serializer::new();
        {
            let mut erased = <dyn erased_serde::Serializer>::erase(&mut serializer);
            let object: &dyn erased_serde::Serialize = &value;
            object.erased_serialize(&mut erased).unwrap();
        }
        let bytes = serializer.into_vec().unwrap();
        assert_eq!(bytes, serde_tensor::to_vec(&value).unwrap());

        let object: &dyn erased_serde::Serialize = &value;
        assert_eq!(serde_tensor::to_vec(object).unwrap(), bytes);

        let mut deserializer = Deserializer::from_slice(&bytes).unwrap();
        let read: Rollout = {
            let mut erased = <dyn erased_serde::Deserializer<'_>>::erase(&mut deserializer);
            erased_serde::deserialize(&mut erased).unwrap()
        };
        deserializer.end().unwrap();
        assert_eq!(read, value);
    }
}

#[test]
fn a_view_borrows_through_erased_serde() {
    let bytes = serde_tensor::to_vec(&ramp(5000)).unwrap();
    let mut deserializer = Deserializer::from_slice(&bytes).unwrap();
    let mut erased = <dyn erased_serde::Deserializer<'_>>::erase(&mut deserializer);
    let view: TensorView<'_> = erased_serde::deserialize(&mut erased).unwrap();
    assert!(bytes.as_ptr_range().contains(&view.bytes().as_ptr()));
}

#[test]
fn serde_path_to_error_agrees_on_the_path() {
    #[derive(Serialize)]
    struct Sent {
        layers: Vec<(u8, Tensor)>,
    }
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "read only")]
    struct Read {
        layers: Vec<(u8, String)>,
    }
    let bytes = serde_tensor::to_vec(&Sent {
        layers: vec![(1, ramp(600))],
    })
    .unwrap();
    let mut deserializer = Deserializer::from_slice(&bytes).unwrap();
    let error = serde_path_to_error::deserialize::<_, Read>(&mut deserializer).unwrap_err();
    assert_eq!(error.path().to_string(), "layers[0][1]");
    assert_eq!(error.inner().path(), Some("layers[0][1]"));

    for value in rollouts() {
        let bytes = serde_tensor::to_vec(&value).unwrap();
        let mut deserializer = Deserializer::from_slice(&bytes).unwrap();
        assert_eq!(
            serde_path_to_error::deserialize::<_, Rollout>(&mut deserializer).unwrap(),
            value
        );
        let mut serializer = Serializer::new();
        let mut track = serde_path_to_error::Track::new();
        value
            .serialize(serde_path_to_error::Serializer::new(&mut serializer, &mut track))
            .unwrap();
        assert_eq!(serializer.into_vec().unwrap(), bytes);
    }
}

#[test]
fn serde_ignored_names_what_nobody_read() {
    #[derive(Deserialize)]
    struct Read {
        step: u64,
        small: Tensor,
    }
    let value = &rollouts()[0];
    let bytes = serde_tensor::to_vec(value).unwrap();
    let mut deserializer = Deserializer::from_slice(&bytes).unwrap();
    let mut ignored = Vec::new();
    let read: Read = serde_ignored::deserialize(&mut deserializer, |path| ignored.push(path.to_string())).unwrap();
    assert_eq!((read.step, &read.small), (value.step, &value.small));
    assert_eq!(
        ignored,
        ["large", "hidden", "none", "bulk", "by_name", "policy", "note"]
    );
}

#[test]
fn json_transcodes_to_this_format_and_back() {
    for value in rollouts() {
        let json = serde_json::to_string(&value).unwrap();
        let mut serializer = Serializer::new();
        serde_transcode::transcode(&mut serde_json::Deserializer::from_str(&json), &mut serializer).unwrap();
        let ours = serializer.into_vec().unwrap();
        assert_eq!(serde_tensor::from_slice::<Rollout>(&ours).unwrap(), value);

        let mut back = Vec::new();
        let mut deserializer = Deserializer::from_slice(&ours).unwrap();
        serde_transcode::transcode(&mut deserializer, &mut serde_json::Serializer::new(&mut back)).unwrap();
        deserializer.end().unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), json);
    }
}

#[test]
fn messagepack_transcodes_to_this_format_and_back() {
    for value in rollouts() {
        let packed = rmp_serde::to_vec_named(&value).unwrap();
        let mut serializer = Serializer::new();
        serde_transcode::transcode(&mut rmp_serde::Deserializer::from_read_ref(&packed), &mut serializer).unwrap();
        let ours = serializer.into_vec().unwrap();
        assert_eq!(serde_tensor::from_slice::<Rollout>(&ours).unwrap(), value);

        let mut back = Vec::new();
        let mut deserializer = Deserializer::from_slice(&ours).unwrap();
        serde_transcode::transcode(
            &mut deserializer,
            &mut rmp_serde::Serializer::new(&mut back).with_struct_map(),
        )
        .unwrap();
        deserializer.end().unwrap();
        assert_eq!(rmp_serde::from_slice::<Rollout>(&back).unwrap(), value);
    }
}

#[test]
fn a_message_transcodes_to_itself_but_for_its_segments() {
    for value in rollouts() {
        for encoder in [
            Encoder::new(),
            Encoder::new().compact(true),
            Encoder::new().inline_limit(0),
        ] {
            let sent = encoder.to_vec(&value).unwrap();
            let mut serializer = Serializer::new();
            let mut deserializer = Deserializer::from_slice(&sent).unwrap();
            serde_transcode::transcode(&mut deserializer, &mut serializer).unwrap();
            deserializer.end().unwrap();
            let copy = serializer.into_vec().unwrap();
            assert_eq!(serde_tensor::from_slice::<Rollout>(&copy).unwrap(), value);
            assert!(inspect(&copy).unwrap().segments().is_none());
        }
    }
    let value = serde_json::json!({"a": [null, 1, -1, 1.5, "t", {"": true}]});
    let sent = serde_tensor::to_vec(&value).unwrap();
    let mut serializer = Serializer::new();
    serde_transcode::transcode(&mut Deserializer::from_slice(&sent).unwrap(), &mut serializer).unwrap();
    assert_eq!(
        serde_tensor::from_slice::<serde_json::Value>(&serializer.into_vec().unwrap()).unwrap(),
        value
    );
}

#[test]
fn nested_options_transcode_byte_for_byte() {
    let value = vec![None, Some(None), Some(Some(None)), Some(Some(Some(5u8)))];
    let sent = serde_tensor::to_vec(&value).unwrap();
    let mut serializer = Serializer::new();
    serde_transcode::transcode(&mut Deserializer::from_slice(&sent).unwrap(), &mut serializer).unwrap();
    assert_eq!(serializer.into_vec().unwrap(), sent);
}

#[test]
fn a_serializer_without_a_value_says_so() {
    assert!(
        Serializer::new()
            .into_vec()
            .unwrap_err()
            .to_string()
            .contains("no value")
    );
}

#[test]
fn a_deserializer_that_is_ended_early_names_what_is_left() {
    let bytes = [1, 2, 3];
    let mut deserializer = Deserializer::from_slice(&bytes).unwrap();
    assert_eq!(u8::deserialize(&mut deserializer).unwrap(), 1);
    assert_eq!(deserializer.end().unwrap_err().offset(), Some(1));
}
