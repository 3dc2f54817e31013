//! Readers and writers that split, interrupt, fail and end where they please.
//!
//! Without these the format would work over memory, and lose or swallow bytes over a socket.

use std::io::{self, Cursor, ErrorKind, Read, Write};

use serde_tensor::{Category, Decoder, Encoder, Limits, MessageReader, MessageWriter, Plan, Tensor, TensorSerialize};

use crate::{Rollout, ramp};

fn planned<T: TensorSerialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    Plan::new(value).unwrap().write_to(&mut bytes).unwrap();
    bytes
}

/// Gives its bytes in pieces of a size, with an interruption before each.
struct Pieces<'b> {
    bytes: &'b [u8],
    size: usize,
    interrupted: bool,
}

impl<'b> Pieces<'b> {
    fn new(bytes: &'b [u8], size: usize) -> Self {
        Self {
            bytes,
            size,
            interrupted: false,
        }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = self.size.min(self.bytes.len()).min(buffer.len());
        let (piece, rest) = self.bytes.split_at(len);
        buffer[..len].copy_from_slice(piece);
        self.bytes = rest;
        Ok(len)
    }
}

/// Gives its bytes, then fails.
struct Failing<'b>(&'b [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::new(ErrorKind::ConnectionReset, "the peer is gone")),
            read => Ok(read),
        }
    }
}

#[test]
fn exactly_one_frame_is_read_and_what_follows_is_left() {
    for frame in [
        serde_tensor::to_vec(&Rollout::sample()).unwrap(),
        planned(&Rollout::sample()),
    ] {
        let mut reader = Cursor::new([frame.as_slice(), &frame, b"rest"].concat());
        for n in 1..=2 {
            let read: Rollout = serde_tensor::from_reader(&mut reader).unwrap();
            assert_eq!(read, Rollout::sample());
            assert_eq!(reader.position(), n * frame.len() as u64);
        }
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"rest");
    }
}

#[test]
fn a_plain_message_reaches_to_the_end_of_the_reader() {
    let mut reader = Cursor::new(serde_tensor::to_vec(&(1, "two")).unwrap());
    assert_eq!(
        serde_tensor::from_reader::<_, (u8, String)>(&mut reader).unwrap(),
        (1, "two".to_owned())
    );
    let error = serde_tensor::from_reader::<_, u8>(&[1u8, 2][..]).unwrap_err();
    assert_eq!((error.category(), error.offset()), (Category::Syntax, Some(1)));
    let error = serde_tensor::from_reader::<_, u8>(io::empty()).unwrap_err();
    assert_eq!(error.category(), Category::Eof);
}

#[test]
fn readers_may_split_and_interrupt_anywhere() {
    let plain = serde_tensor::to_vec(&(ramp(300), "text")).unwrap();
    for size in [1, 2, 3, 7, 63, 64, 65, 1000] {
        let read: (Tensor, String) = serde_tensor::from_reader(Pieces::new(&plain, size)).unwrap();
        assert_eq!(read, (ramp(300), "text".to_owned()));
        for frame in [
            serde_tensor::to_vec(&Rollout::sample()).unwrap(),
            planned(&Rollout::sample()),
        ] {
            let read: Rollout = serde_tensor::from_reader(Pieces::new(&frame, size)).unwrap();
            assert_eq!(read, Rollout::sample());
            let mut stream = MessageReader::new(Pieces::new(&frame, size));
            assert_eq!(stream.read::<Rollout>().unwrap(), Some(Rollout::sample()));
            assert_eq!(stream.read::<Rollout>().unwrap(), None);
        }
    }
}

#[test]
fn a_reader_that_ends_early_is_an_end_of_input_with_its_offset() {
    let frame = serde_tensor::to_vec(&ramp(600)).unwrap();
    for cut in 1..frame.len() {
        let error = serde_tensor::from_reader::<_, Tensor>(&frame[..cut]).unwrap_err();
        assert_eq!(
            (error.category(), error.offset()),
            (Category::Eof, Some(cut as u64)),
            "{error}"
        );
        let error = MessageReader::new(&frame[..cut]).read::<Tensor>().unwrap_err();
        assert_eq!(error.category(), Category::Eof);
    }
}

#[test]
fn a_reader_that_fails_keeps_its_own_error() {
    let frame = serde_tensor::to_vec(&ramp(600)).unwrap();
    let plain = serde_tensor::to_vec(&"text".repeat(10)).unwrap();
    for bytes in [&frame, &plain] {
        for cut in [0, 1, 10, bytes.len() - 1] {
            let error = serde_tensor::from_reader::<_, Tensor>(Failing(&bytes[..cut])).unwrap_err();
            assert_eq!(error.category(), Category::Io, "{error}");
            let source = std::error::Error::source(&error)
                .unwrap()
                .downcast_ref::<io::Error>()
                .unwrap();
            assert_eq!(source.kind(), ErrorKind::ConnectionReset);
            assert_eq!(io::Error::from(error).kind(), ErrorKind::ConnectionReset);
        }
    }
    // A whole frame is read without asking for more.
    assert_eq!(
        serde_tensor::from_reader::<_, Tensor>(Failing(&frame)).unwrap(),
        ramp(600)
    );
}

#[test]
fn messages_stream_one_after_another() {
    let mut writer = MessageWriter::with_encoder(Vec::new(), Encoder::new().checksums(true));
    writer.write("plain values are framed").unwrap();
    writer.write_planned(&Rollout::sample()).unwrap();
    writer.write(&Rollout::sample()).unwrap();
    writer.write(&None::<u8>).unwrap();
    let stream = writer.into_inner();

    let mut reader = MessageReader::new(stream.as_slice());
    assert_eq!(reader.read::<String>().unwrap().unwrap(), "plain values are framed");
    for _ in 0..2 {
        assert_eq!(reader.read::<Rollout>().unwrap().unwrap(), Rollout::sample());
    }
    assert_eq!(reader.read::<Option<u8>>().unwrap(), Some(None));
    assert_eq!(reader.read::<u8>().unwrap(), None);
    assert_eq!(reader.read::<u8>().unwrap(), None);
}

#[test]
fn a_message_of_another_type_leaves_the_stream_at_the_next() {
    let mut stream = Vec::new();
    let mut writer = MessageWriter::new(&mut stream);
    writer.write(&1u8).unwrap();
    writer.write("not a number").unwrap();
    writer.write(&3u8).unwrap();
    let mut reader = MessageReader::new(stream.as_slice());
    assert_eq!(reader.read::<u8>().unwrap(), Some(1));
    assert_eq!(reader.read::<u8>().unwrap_err().category(), Category::Data);
    assert_eq!(reader.read::<u8>().unwrap(), Some(3));

    let mut reader = MessageReader::new(stream.as_slice());
    let read: Vec<_> = reader.messages::<u8>().collect();
    assert_eq!(read.len(), 2, "iterating ends at the first error");
    assert!(read[0].is_ok() && read[1].is_err());
}

#[test]
fn a_stream_of_anything_but_frames_is_refused() {
    let error = MessageReader::new(&[1u8, 2][..]).read::<u8>().unwrap_err();
    assert_eq!((error.category(), error.offset()), (Category::Syntax, Some(0)));
    assert!(error.to_string().contains("0x01"), "{error}");
}

#[test]
fn a_value_that_does_not_encode_writes_nothing_to_the_stream() {
    let mut writer = MessageWriter::with_encoder(Vec::new(), Encoder::new().depth(1));
    assert_eq!(writer.write(&[[1]]).unwrap_err().category(), Category::Limit);
    assert!(writer.get_ref().is_empty());
    writer.write(&[1]).unwrap();
    assert_eq!(
        MessageReader::new(writer.into_inner().as_slice())
            .read::<Vec<u8>>()
            .unwrap(),
        Some(vec![1])
    );
}

/// Takes so many bytes at a time, interrupts, and fails after so many in all.
struct Narrow {
    taken: Vec<u8>,
    each: usize,
    until: usize,
    interrupted: bool,
    error: Option<ErrorKind>,
}

impl Narrow {
    fn new(each: usize, until: usize, error: Option<ErrorKind>) -> Self {
        Self {
            taken: Vec::new(),
            each,
            until,
            interrupted: false,
            error,
        }
    }
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = bytes.len().min(self.each).min(self.until - self.taken.len());
        if len == 0
            && let Some(kind) = self.error
        {
            return Err(kind.into());
        }
        self.taken.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// More segments than are handed to a writer at once, with gaps between them.
fn many() -> Vec<Tensor> {
    (0..300).map(|n| ramp(600 + n)).collect()
}

#[test]
fn a_plan_writes_the_same_to_writers_of_any_patience() {
    for align in [16, 8192] {
        let value = (Rollout::sample(), many());
        let plan = Encoder::new().align(align).plan(&value).unwrap();
        let mut whole = Vec::new();
        plan.write_to(&mut whole).unwrap();
        assert_eq!(whole.len(), plan.len());
        assert_eq!(
            serde_tensor::from_slice::<(Rollout, Vec<Tensor>)>(&whole).unwrap(),
            value
        );
        for each in [1, 7, 4096, usize::MAX] {
            let mut writer = Narrow::new(each, usize::MAX, None);
            plan.write_to(&mut writer).unwrap();
            assert!(writer.taken == whole, "{each} bytes at a time");
        }
        let mut again = Vec::new();
        plan.write_to(&mut again).unwrap();
        assert!(again == whole, "a plan can be written twice");
    }
}

#[test]
fn a_writer_that_fails_keeps_its_own_error() {
    let value = many();
    let plan = Plan::new(&value).unwrap();
    for until in [0, 1, 63, 5000, plan.len() - 1] {
        let mut writer = Narrow::new(1000, until, Some(ErrorKind::BrokenPipe));
        let error = plan.write_to(&mut writer).unwrap_err();
        assert_eq!(error.category(), Category::Io);
        assert_eq!(io::Error::from(error).kind(), ErrorKind::BrokenPipe);
        assert_eq!(writer.taken.len(), until);
    }
    for until in [0, 1, 63, 5000] {
        let error = serde_tensor::to_writer(Narrow::new(1000, until, Some(ErrorKind::BrokenPipe)), &value).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), ErrorKind::BrokenPipe);
    }
}

#[test]
fn a_writer_that_takes_nothing_is_an_error_and_not_a_loop() {
    let value = many();
    for until in [0, 10_000] {
        let error = Plan::new(&value)
            .unwrap()
            .write_to(Narrow::new(1000, until, None))
            .unwrap_err();
        assert_eq!(io::Error::from(error).kind(), ErrorKind::WriteZero);
        let error = serde_tensor::to_writer(Narrow::new(1000, until, None), &value).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), ErrorKind::WriteZero);
    }
}

#[test]
fn a_writer_is_flushed_at_the_end() {
    struct Flushed(Vec<u8>, usize);
    impl Write for Flushed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.1 = self.0.len();
            Ok(())
        }
    }
    let value = ramp(1000);
    let mut writer = Flushed(Vec::new(), 0);
    Plan::new(&value).unwrap().write_to(&mut writer).unwrap();
    assert_eq!(writer.1, writer.0.len());
    let mut writer = Flushed(Vec::new(), 0);
    serde_tensor::to_writer(&mut writer, &value).unwrap();
    assert_eq!(writer.1, writer.0.len());
    let mut writer = Flushed(Vec::new(), 0);
    MessageWriter::new(&mut writer).write(&value).unwrap();
    assert_eq!(writer.1, writer.0.len());
}

#[test]
fn a_buffer_is_used_again() {
    let encoder = Encoder::new();
    let mut buffer = Vec::with_capacity(1 << 16);
    let address = buffer.as_ptr();
    for value in [
        Rollout::sample(),
        Rollout {
            step: 1,
            ..Rollout::sample()
        },
    ] {
        encoder.to_vec_into(&value, &mut buffer).unwrap();
        assert_eq!(buffer.as_ptr(), address);
        assert_eq!(serde_tensor::from_slice::<Rollout>(&buffer).unwrap(), value);
    }
    encoder.to_vec_into(&5u8, &mut buffer).unwrap();
    assert_eq!(buffer, [5]);
    assert!(Encoder::new().depth(0).to_vec_into(&[5u8], &mut buffer).is_err());
    assert!(buffer.is_empty());
}

#[test]
fn the_front_of_a_slice_is_taken_and_the_rest_returned() {
    for message in [
        serde_tensor::to_vec(&Rollout::sample()).unwrap(),
        planned(&Rollout::sample()),
        Encoder::new()
            .inline_limit(usize::MAX)
            .to_vec(&Rollout::sample())
            .unwrap(),
    ] {
        let all = [message.as_slice(), &message].concat();
        let (first, rest) = Decoder::new().take_from_slice::<Rollout>(&all).unwrap();
        assert_eq!(rest, message);
        let (second, rest) = Decoder::new().take_from_slice::<Rollout>(rest).unwrap();
        assert!(rest.is_empty());
        assert_eq!((first, second), (Rollout::sample(), Rollout::sample()));
    }
}

/// Gives its bytes, and is then asked for more by one who waits for them.
struct Waiting<'b>(&'b [u8]);

impl Read for Waiting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => panic!("this would wait for what need not be read"),
            read => Ok(read),
        }
    }
}

#[test]
fn what_cannot_become_a_frame_is_refused_as_soon_as_it_shows() {
    let garbage: [(&[u8], u64); 5] = [
        (b"\xC1TT", 0),
        (b"\xC1STN\x02", 4),
        (b"\xC1STN\x01\x02", 5),
        (b"\xC1STN\x01\x00\x11", 6),
        (b"\xC1STN\x01\x00\x06\x01", 7),
    ];
    for (bytes, at) in garbage {
        // The first eight bytes of a header are looked at together.
        let bytes = [bytes, &[0; 8][..8usize.saturating_sub(bytes.len())]].concat();
        let errors = [
            serde_tensor::from_reader::<_, u8>(Waiting(&bytes)).unwrap_err(),
            MessageReader::new(Waiting(&bytes)).read::<u8>().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(
                (error.category(), error.offset()),
                (Category::Syntax, Some(at)),
                "{error}"
            );
        }
    }
}

#[test]
fn a_message_above_the_limit_leaves_the_stream_at_the_next() {
    let mut writer = MessageWriter::new(Vec::new());
    for value in [ramp(10), ramp(5000), ramp(20)] {
        writer.write(&value).unwrap();
    }
    let stream = writer.into_inner();
    let decoder = Decoder::new().limits(Limits::new().message(2000));
    let mut reader = MessageReader::with_decoder(stream.as_slice(), decoder.clone());
    assert_eq!(reader.read::<Tensor>().unwrap(), Some(ramp(10)));
    let error = reader.read::<Tensor>().unwrap_err();
    assert_eq!(error.category(), Category::Limit);
    assert_eq!(error.to_string(), "a message of 5102 bytes, above the limit of 2000");
    assert_eq!(reader.read::<Tensor>().unwrap(), Some(ramp(20)));
    assert_eq!(reader.read::<Tensor>().unwrap(), None);

    let mut reader = MessageReader::with_decoder(&stream[..2000], decoder);
    assert_eq!(reader.read::<Tensor>().unwrap(), Some(ramp(10)));
    assert_eq!(reader.read::<Tensor>().unwrap_err().category(), Category::Limit);
    assert_eq!(reader.read::<Tensor>().unwrap_err().category(), Category::Eof);
}

#[test]
fn a_message_above_the_limit_is_refused_before_it_is_read_whatever_its_length() {
    let decoder = Decoder::new().limits(Limits::new().message(1000));
    let whole = planned(&ramp(3000));
    for length in [whole.len() as u64, 1 << 60, u64::MAX] {
        let mut start = whole[..64].to_vec();
        start[8..16].copy_from_slice(&length.to_le_bytes());
        let errors = [
            decoder.from_reader::<_, Tensor>(Waiting(&start)).unwrap_err(),
            MessageReader::with_decoder(Waiting(&start), decoder.clone())
                .read::<Tensor>()
                .unwrap_err(),
        ];
        for error in errors {
            let expected = format!("a message of {length} bytes, above the limit of 1000");
            assert_eq!((error.category(), error.to_string()), (Category::Limit, expected));
        }
    }
}
