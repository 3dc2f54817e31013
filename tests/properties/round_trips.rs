//! What is sent arrives, whichever way it goes.

use std::ops::Range;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_tensor::{DType, Decoder, Encoder, MessageReader, MessageWriter, Tensor, TensorView, inspect};

use crate::values::{Tree, encoders, tensors, trees};

fn planned(encoder: &Encoder, value: &Tree) -> Vec<u8> {
    let plan = encoder.plan(value).unwrap();
    let mut bytes = Vec::new();
    plan.write_to(&mut bytes).unwrap();
    assert_eq!(bytes.len(), plan.len());
    assert_eq!(bytes[0] == 0xc1, plan.is_frame());
    bytes
}

/// JSON without numbers that JSON cannot hold.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>()
            .prop_filter("a number of JSON", |n| n.is_finite())
            .prop_map(Into::into),
        ".{0,40}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 64, 20, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..20).prop_map(Into::into),
            vec((".{0,3}", inner), 0..20).prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_comes_back_by_every_way_in_and_out(value in trees(), encoder in encoders()) {
        for bytes in [encoder.to_vec(&value).unwrap(), planned(&encoder, &value)] {
            prop_assert_eq!(&serde_tensor::from_slice::<Tree>(&bytes).unwrap(), &value);
            prop_assert_eq!(&serde_tensor::from_reader::<_, Tree>(bytes.as_slice()).unwrap(), &value);
            prop_assert_eq!(&Decoder::new().detach(true).from_slice::<Tree>(&bytes).unwrap(), &value);
            let longer = [&bytes[..], b"rest"].concat();
            let (read, rest) = Decoder::new().take_from_slice::<Tree>(&longer).unwrap();
            prop_assert_eq!((&read, rest), (&value, &b"rest"[..]));
            let (read, report) = Decoder::new().from_bytes_with_report::<Tree>(Bytes::from(bytes.clone())).unwrap();
            prop_assert_eq!(&read, &value);
            // Bulk elements are tensors to the message and to the report alike.
            let found = inspect(&bytes).unwrap();
            let rows: Vec<_> = report.iter().map(|row| (row.path(), row.dtype(), row.shape(), row.bytes())).collect();
            let infos: Vec<_> = found.tensors().iter().map(|info| (info.path(), info.dtype(), info.shape(), info.bytes())).collect();
            prop_assert_eq!(rows, infos);
        }
    }

    #[test]
    fn encoding_what_was_read_gives_the_same_bytes(value in trees(), encoder in encoders()) {
        let bytes = encoder.to_vec(&value).unwrap();
        // Tensors that arrive in one buffer are of one storage, but do not overlap.
        let read: Tree = serde_tensor::from_slice(&bytes).unwrap();
        prop_assert_eq!(encoder.to_vec(&read).unwrap(), bytes);
        let mut buffer = vec![1; 100];
        encoder.to_vec_into(&value, &mut buffer).unwrap();
        prop_assert_eq!(buffer, encoder.to_vec(&value).unwrap());
    }

    #[test]
    fn messages_come_back_from_a_stream(values in vec((trees(), any::<bool>()), 0..4), encoder in encoders()) {
        let mut writer = MessageWriter::with_encoder(Vec::new(), encoder);
        for (value, plan) in &values {
            match plan {
                true => writer.write_planned(value).unwrap(),
                false => writer.write(value).unwrap(),
            }
        }
        let stream = writer.into_inner();
        let mut reader = MessageReader::new(stream.as_slice());
        let read: Vec<Tree> = reader.messages().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read, values.into_iter().map(|(value, _)| value).collect::<Vec<_>>());
    }

    #[test]
    fn a_tensor_comes_back_as_itself_and_as_a_view_and_from_other_formats(tensor in tensors(), encoder in encoders()) {
        let bytes = encoder.to_vec(&tensor).unwrap();
        prop_assert_eq!(&serde_tensor::from_slice::<Tensor>(&bytes).unwrap(), &tensor);
        let view: TensorView<'_> = serde_tensor::from_slice(&bytes).unwrap();
        prop_assert_eq!(&view, &tensor);
        let json = serde_json::to_string(&tensor).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Tensor>(&json).unwrap(), &tensor);
        let packed = postcard::to_stdvec(&tensor).unwrap();
        prop_assert_eq!(&postcard::from_bytes::<Tensor>(&packed).unwrap(), &tensor);
    }

    #[test]
    fn parts_of_one_storage_overlap_again_and_travel_once(
        ranges in vec((0..3000usize, 0..1500usize), 0..8),
        encoder in encoders(),
    ) {
        let storage: Bytes = (0..251u8).cycle().take(5000).collect::<Vec<_>>().into();
        let part = |range: Range<usize>| Tensor::from_bytes(DType::U8, &[range.len()], storage.slice(range)).unwrap();
        let ranges: Vec<Range<usize>> = ranges.into_iter().map(|(start, len)| start..start + len).collect();
        let value: Vec<Tensor> = ranges.iter().cloned().map(part).collect();
        let mut bytes = Vec::new();
        encoder.plan(&value).unwrap().write_to(&mut bytes).unwrap();
        let shown = (0..5000).filter(|at| ranges.iter().any(|range| range.contains(at))).count();
        let data = match bytes[0] {
            0xc1 => usize::try_from(u64::from_le_bytes(bytes[56..64].try_into().unwrap())).unwrap(),
            _ => 0,
        };
        let table = inspect(&bytes).unwrap().segments().unwrap_or(0);
        prop_assert!(data <= shown + table * 65536, "{} bytes of data for {} shown", data, shown);

        let read: Vec<Tensor> = serde_tensor::from_bytes(Bytes::from(bytes.clone())).unwrap();
        prop_assert_eq!(&read, &value);
        let address = |tensor: &Tensor| tensor.bytes().as_ptr().addr();
        for (one, first) in ranges.iter().zip(&read) {
            for (other, second) in ranges.iter().zip(&read) {
                if one.start <= other.start && other.start < one.end && !other.is_empty() {
                    prop_assert_eq!(address(second) - address(first), other.start - one.start);
                }
            }
        }
        prop_assert_eq!(&serde_tensor::from_slice::<Vec<Tensor>>(&bytes).unwrap(), &value);
        let single = encoder.to_vec(&value).unwrap();
        prop_assert_eq!(&serde_tensor::from_slice::<Vec<Tensor>>(&single).unwrap(), &value);
    }

    #[test]
    fn a_value_without_tensors_is_the_messagepack_that_others_write(value in json()) {
        let bytes = serde_tensor::to_vec(&value).unwrap();
        prop_assert_eq!(&bytes, &rmp_serde::to_vec(&value).unwrap());
        prop_assert_eq!(&serde_tensor::from_slice::<serde_json::Value>(&bytes).unwrap(), &value);
        prop_assert_eq!(&rmp_serde::from_slice::<serde_json::Value>(&bytes).unwrap(), &value);
    }
}
