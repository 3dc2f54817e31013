//! Tensors that share memory arrive sharing it (T6).

use serde_tensor::{Decoder, Encoder, Plan, TensorDeserialize, TensorSerialize, inspect};
use tch::{Kind, Tensor};

use super::{bytes, iota, one};

#[derive(Debug, TensorSerialize, TensorDeserialize)]
struct Two {
    #[tensor]
    a: Tensor,
    #[tensor]
    b: Tensor,
}

fn planned(value: &Two) -> Vec<u8> {
    let mut message = Vec::new();
    Plan::new(value).unwrap().write_to(&mut message).unwrap();
    message
}

/// Decodes in every way in which memory is shared.
fn arrivals(message: &[u8]) -> Vec<Two> {
    let moved = [&[0], message].concat();
    vec![
        serde_tensor::from_slice(message).unwrap(),
        serde_tensor::from_slice(&moved[1..]).unwrap(),
        serde_tensor::from_reader(message).unwrap(),
        serde_tensor::tch::from_reader(message).unwrap(),
        serde_tensor::from_bytes(message.to_vec().into()).unwrap(),
    ]
}

fn segments(message: &[u8]) -> usize {
    inspect(message).unwrap().segments().unwrap()
}

#[test]
fn two_names_for_one_tensor_are_one_segment_and_one_memory() {
    for shape in [&[40, 30][..], &[2]] {
        let weight = iota(shape);
        let value = Two {
            a: weight.shallow_clone(),
            b: weight,
        };
        let message = planned(&value);
        assert_eq!(segments(&message), 1);
        for Two { mut a, b } in arrivals(&message) {
            assert_eq!(a.data_ptr(), b.data_ptr());
            let _ = a.fill_(7.5);
            assert_eq!(bytes(&a), bytes(&b), "writing through one shows in the other");
            assert_eq!(b.max(), Tensor::from(7.5f32));
        }
    }
}

#[test]
fn the_single_pass_writer_ties_what_lies_in_a_segment_already() {
    let weight = iota(&[40, 30]);
    let value = Two {
        b: weight.narrow(0, 10, 5),
        a: weight,
    };
    let message = serde_tensor::to_vec(&value).unwrap();
    assert_eq!(segments(&message), 1);
    for Two { a, mut b } in arrivals(&message) {
        let _ = b.fill_(-1.0);
        assert_eq!(a.narrow(0, 10, 5).max(), Tensor::from(-1.0f32));
        assert_eq!(a.get(9).min(), Tensor::from(270.0f32));
    }
}

#[test]
fn overlapping_views_share_what_they_overlap_and_nothing_else_travels() {
    let storage = iota(&[1_000_000]);
    let value = Two {
        a: storage.narrow(0, 500, 300),
        b: storage.narrow(0, 700, 300),
    };
    let message = planned(&value);
    assert_eq!(segments(&message), 1);
    assert!(message.len() < 4 * 500 + 300);
    for Two { mut a, b } in arrivals(&message) {
        assert_eq!((bytes(&a), bytes(&b)), (bytes(&value.a), bytes(&value.b)));
        let _ = a.fill_(3.0);
        assert_eq!(b.narrow(0, 0, 100).min(), Tensor::from(3.0f32));
        assert_eq!(b.double_value(&[100]).to_bits(), 800.0f64.to_bits());
    }
}

#[test]
fn a_tensor_and_its_transpose_are_tied() {
    let weight = iota(&[40, 30]);
    let value = Two {
        a: weight.transpose(0, 1),
        b: weight,
    };
    for Two { a, b } in arrivals(&planned(&value)) {
        assert_eq!((a.size(), a.stride()), (vec![30, 40], vec![1, 30]));
        let _ = b.get(3).fill_(0.5);
        assert_eq!(a.select(1, 3).max(), Tensor::from(0.5f32));
    }
}

#[test]
fn one_storage_under_two_kinds_is_tied() {
    let floats = iota(&[300]);
    for (kind, len) in [
        (Kind::Uint8, 1200),
        (Kind::Int, 300),
        (Kind::Half, 600),
        (Kind::Double, 150),
    ] {
        let other = floats.view_dtype(kind);
        for value in [
            Two {
                a: floats.shallow_clone(),
                b: other.shallow_clone(),
            },
            Two {
                a: other.shallow_clone(),
                b: floats.shallow_clone(),
            },
            Two {
                a: other.narrow(0, 0, len / 2),
                b: floats.shallow_clone(),
            },
        ] {
            let message = planned(&value);
            assert_eq!(segments(&message), 1);
            for Two { mut a, b } in arrivals(&message) {
                assert_eq!((a.kind(), b.kind()), (value.a.kind(), value.b.kind()));
                assert_eq!((bytes(&a), bytes(&b)), (bytes(&value.a), bytes(&value.b)));
                let _ = a.zero_();
                assert_eq!(bytes(&b)[..64], [0; 64]);
            }
        }
    }
}

/// A segment's length need not be a multiple of an element that views it.
#[test]
fn a_larger_element_views_as_much_as_fits() {
    let bytes_of = Tensor::arange(1203, (Kind::Uint8, tch::Device::Cpu));
    let value = Two {
        a: bytes_of.narrow(0, 0, 1200).view_dtype(Kind::Double),
        b: bytes_of,
    };
    for Two { mut a, b } in arrivals(&planned(&value)) {
        let _ = a.zero_();
        assert_eq!(bytes(&b)[..1200], [0; 1200]);
        assert_eq!(bytes(&b)[1200..], [176, 177, 178]);
    }
}

/// libtorch's memory holds elements at multiples of their size; where another tensor begins the segment it may not.
#[test]
fn a_tensor_that_cannot_lie_in_the_segment_gets_a_copy() {
    let storage = Tensor::arange(2000, (Kind::Uint8, tch::Device::Cpu));
    let value = Two {
        a: storage.narrow(0, 1, 1500),
        b: storage.narrow(0, 4, 1200).view_dtype(Kind::Float),
    };
    for Two { a, b } in arrivals(&planned(&value)) {
        assert_eq!((bytes(&a), bytes(&b)), (bytes(&value.a), bytes(&value.b)));
    }
}

#[test]
fn neighbours_in_one_storage_do_not_overlap_and_are_not_tied() {
    let storage = iota(&[2000]);
    let value = Two {
        a: storage.narrow(0, 0, 1000),
        b: storage.narrow(0, 1000, 1000),
    };
    assert_eq!(segments(&planned(&value)), 2);
}

#[test]
fn detach_gives_each_tensor_memory_of_its_own() {
    let weight = iota(&[300]);
    let message = planned(&Two {
        a: weight.shallow_clone(),
        b: weight,
    });
    let Two { mut a, b } = Decoder::new().detach(true).from_slice(&message).unwrap();
    let _ = a.zero_();
    assert_eq!(b.double_value(&[299]).to_bits(), 299.0f64.to_bits());
}

#[test]
fn messages_do_not_share_memory_with_each_other() {
    let message = serde_tensor::to_vec(&one(iota(&[300]))).unwrap();
    let mut first: super::One = serde_tensor::from_slice(&message).unwrap();
    let second: super::One = serde_tensor::from_slice(&message).unwrap();
    let _ = first.x.zero_();
    assert_eq!(second.x.double_value(&[299]).to_bits(), 299.0f64.to_bits());
}

/// Memory moves when a decoded tensor is given another while its neighbours are still being read.
#[test]
fn a_tensor_that_is_changed_while_others_are_read_does_not_mislead_them() {
    #[derive(Debug)]
    struct Moved(Tensor);
    impl<'de> TensorDeserialize<'de> for Moved {
        fn deserialize_tensors<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let mut tensor = Tensor::deserialize_tensors(deserializer)?;
            tensor.set_data(&Tensor::zeros([5], super::FLOAT));
            let _ = tensor.resize_([100_000]);
            Ok(Self(tensor))
        }
    }
    #[derive(Debug, TensorDeserialize)]
    struct Read {
        #[tensor]
        a: Moved,
        #[tensor]
        b: Tensor,
    }
    let weight = iota(&[300]);
    let message = planned(&Two {
        a: weight.shallow_clone(),
        b: weight.shallow_clone(),
    });
    let read: Read = serde_tensor::from_slice(&message).unwrap();
    assert_eq!(bytes(&read.b), bytes(&weight));
    assert_eq!(read.a.0.numel(), 100_000);
}

#[test]
fn memory_is_freed_with_the_last_tensor_that_shows_it() {
    // That the second name is still there when the first is dropped; a freed arena would be filled with other tensors.
    let weight = iota(&[300]);
    let message = planned(&Two {
        a: weight.shallow_clone(),
        b: weight.narrow(0, 0, 200),
    });
    let Two { a, b } = serde_tensor::from_slice(&message).unwrap();
    drop(a);
    let others: Vec<Tensor> = (0..100).map(|_| Tensor::full([300], 9.0, super::FLOAT)).collect();
    assert_eq!(bytes(&b), bytes(&weight.narrow(0, 0, 200)));
    drop(others);
}

#[test]
fn a_segment_of_many_names_is_copied_once() {
    #[derive(Debug, TensorSerialize, TensorDeserialize)]
    struct Many {
        #[tensor]
        all: Vec<Tensor>,
    }
    let weight = iota(&[1 << 18]);
    let all = (0..100).map(|_| weight.shallow_clone()).collect();
    let value = Many { all };
    let mut message = Vec::new();
    Encoder::new().plan(&value).unwrap().write_to(&mut message).unwrap();
    assert!(message.len() < (1 << 20) + 4096);
    let read: Many = serde_tensor::from_slice(&message).unwrap();
    assert!(
        read.all
            .iter()
            .all(|tensor| tensor.data_ptr() == read.all[0].data_ptr())
    );
}

/// As another writer may: ours puts empty tensors inline. Both segments begin at the same place.
#[test]
fn an_empty_segment_is_not_taken_for_the_one_that_begins_where_it_does() {
    #[derive(Debug, TensorDeserialize)]
    struct Four {
        #[tensor]
        all: Vec<Tensor>,
    }
    // Of u8: two names of segment 0, which is empty, and two of segment 1.
    let tensor = |len: u8, segment: u8| [0xc7, 10, 0x54, 1, 1, 8, 0, 1, 0, 1, len, segment, 0];
    let all = [tensor(0, 0), tensor(0, 0), tensor(64, 1), tensor(64, 1)].concat();
    let body = [&[0x81, 0xa3, b'a', b'l', b'l', 0x94][..], &all].concat();
    let (len, data) = (u64::try_from(body.len()).unwrap(), 192u64);
    let mut message = b"\xc1STN\x01\x00\x06\x00".to_vec();
    let mut put = |numbers: &[u64], then: &[u8]| {
        for number in numbers {
            message.extend(number.to_le_bytes());
        }
        message.extend(then);
    };
    put(&[data + 64, 64, len, 64 + len, 2, data, 64], &body);
    put(&[data, 0, 0, data, 64, 0], &[]);
    message.resize(192, 0);
    message.extend(0..64);
    let reads: [serde_tensor::Result<Four>; 4] = [
        serde_tensor::from_slice(&message),
        serde_tensor::from_reader(message.as_slice()),
        serde_tensor::tch::from_reader(message.as_slice()),
        Decoder::new().detach(true).from_slice(&message),
    ];
    for read in reads {
        let Four { all } = read.unwrap();
        let lens: Vec<usize> = all.iter().map(Tensor::numel).collect();
        assert_eq!(lens, [0, 0, 64, 64]);
        assert_eq!(bytes(&all[2]), message[192..]);
    }
}
