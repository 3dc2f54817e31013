//! What a plan becomes: a list of buffers, bytes in a caller's memory, writes to a file or socket.
//!
//! Without these a transport would get a message that is copied once more than it must be, or bytes beside its own.

use std::io::{self, IoSlice, Write};

use bytes::{Buf, Bytes};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::{
    Category, DType, DeviceCopies, Encoder, OwnedPlan, Plan, Tensor, TensorSerialize, TensorView, from_slice,
};

use crate::{Rollout, ramp};

fn written(plan: &Plan<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    plan.write_to(&mut bytes).unwrap();
    bytes
}

/// A tensor on a device, which fails to be copied if it is to.
struct OnDevice(Tensor, bool);

impl TensorBackend for OnDevice {
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Ok(Description::new(self.0.dtype(), self.0.shape()).device(serde_tensor::Device::Cuda(0)))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| match self.1 {
            true => Err(serde_tensor::Error::backend("the device is lost")),
            false => self.0.bytes().chunks(100).try_for_each(sink),
        }))
    }

    fn import(import: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        let tensor = Tensor::from_bytes(import.dtype(), import.shape(), import.bytes().to_vec())?;
        Ok(Imported::copied(Self(tensor, false)))
    }
}

serde_tensor::impl_tensor!(OnDevice);

/// A type of which the derive knows nothing.
#[derive(serde::Serialize)]
struct Foreign(Tensor);

/// Tensors of every kind: shared, overlapping, borrowed, copied.
#[derive(TensorSerialize)]
struct Mixed<'a> {
    #[tensor]
    shared: Vec<Tensor>,
    #[tensor]
    view: TensorView<'a>,
    #[tensor]
    bulk: &'a [f32],
    #[tensor]
    device: OnDevice,
    foreign: Foreign,
}

fn with_mixed(test: impl Fn(&Mixed<'_>, &Encoder)) {
    let (viewed, bulk) = (ramp(800), vec![0.5f32; 500]);
    let whole = ramp(5000);
    let part = Tensor::from_bytes(DType::U8, &[4000], whole.shared_bytes().slice(1000..)).unwrap();
    let beyond = Tensor::from_bytes(DType::U8, &[600], ramp(9000).shared_bytes().slice(7000..7600)).unwrap();
    let mixed = Mixed {
        shared: vec![whole, part, beyond, ramp(0), ramp(3)],
        view: viewed.view(),
        bulk: &bulk,
        device: OnDevice(ramp(700), false),
        foreign: Foreign(ramp(900)),
    };
    for checksums in [false, true] {
        for align in [16, 8192] {
            let encoder = Encoder::new().device_copies(DeviceCopies::Allow);
            test(&mixed, &encoder.checksums(checksums).align(align));
        }
    }
}

fn holds(segments: &[Bytes], tensor: &[u8]) -> bool {
    segments
        .iter()
        .any(|segment| segment.as_ptr_range() == tensor.as_ptr_range())
}

#[test]
fn segments_share_what_can_be_shared_and_copy_the_rest() {
    with_mixed(|mixed, encoder| {
        let plan = encoder.plan(mixed).unwrap();
        let segments = plan.to_segments().unwrap();
        assert!(segments.concat() == written(&plan));
        assert!(segments.iter().all(|segment| !segment.is_empty()));
        assert!(holds(&segments, mixed.shared[0].bytes()));
        assert!(holds(&segments, mixed.shared[2].bytes()));
        assert!(
            !holds(&segments, mixed.view.bytes()),
            "borrowed bytes cannot outlive the borrow"
        );
        let again = plan.to_segments().unwrap();
        assert!(again.iter().zip(&segments).all(|(again, segment)| again == segment));
    });
}

#[test]
fn the_segments_of_the_crates_own_tensors_copy_nothing() {
    let value = vec![ramp(1 << 20), ramp(1 << 20)];
    let segments = Plan::new(&value).unwrap().to_segments().unwrap();
    assert!(value.iter().all(|tensor| holds(&segments, tensor.bytes())));
    drop(value);
    assert_eq!(
        from_slice::<Vec<Tensor>>(&segments.concat()).unwrap(),
        [ramp(1 << 20), ramp(1 << 20)]
    );
    // A plain message is one buffer.
    assert_eq!(Plan::new(&7u8).unwrap().to_segments().unwrap(), [&[7][..]]);
}

#[test]
fn an_owned_plan_crosses_threads_and_outlives_its_value() {
    fn check<T: Send + Sync + 'static>(_: &T) {}
    let value = Rollout::sample();
    let message = written(&Plan::new(&value).unwrap());
    let plan = Plan::new(&value).unwrap().into_owned().unwrap();
    check(&plan);
    drop(value);
    assert_eq!(plan.len(), message.len());
    let plan = std::thread::spawn(move || plan).join().unwrap();
    let mut again = Vec::new();
    plan.write_to(&mut again).unwrap();
    assert!(again == message);
    assert!(plan.segments().concat() == message);
    assert!(plan.into_segments().concat() == message);
}

#[test]
fn an_owned_plan_is_a_buffer_that_is_read_at_any_pace() {
    with_mixed(|mixed, encoder| {
        let message = written(&encoder.plan(mixed).unwrap());
        let fresh = || encoder.plan(mixed).unwrap().into_owned().unwrap();
        for each in [1, 7, 64, 1000, message.len()] {
            let mut plan = fresh();
            let mut read = Vec::new();
            while plan.has_remaining() {
                assert_eq!(plan.remaining(), message.len() - read.len());
                assert_eq!(plan.len(), plan.remaining());
                let mut slices = [IoSlice::new(&[]); 3];
                let filled = plan.chunks_vectored(&mut slices);
                assert!(filled > 0 && filled <= 3);
                let mut offered: Vec<u8> = Vec::new();
                slices[..filled]
                    .iter()
                    .for_each(|slice| offered.extend_from_slice(slice));
                assert!(offered.starts_with(plan.chunk()) && !plan.chunk().is_empty());
                let taken = each.min(offered.len());
                read.extend_from_slice(&offered[..taken]);
                plan.advance(taken);
            }
            assert!(read == message, "{each} bytes at a time");
            assert!(plan.is_empty() && plan.chunk().is_empty() && plan.segments().is_empty());
            assert_eq!(plan.chunks_vectored(&mut [IoSlice::new(&[])]), 0);

            let mut plan = fresh();
            let mut read = Vec::new();
            while plan.has_remaining() {
                read.extend_from_slice(&plan.copy_to_bytes(each.min(plan.remaining())));
            }
            assert!(read == message);
        }
        let mut plan = fresh();
        plan.advance(100);
        let mut rest = Vec::new();
        plan.write_to(&mut rest).unwrap();
        assert!(rest == message[100..]);
        assert!(plan.clone().into_segments().concat() == message[100..]);
        assert!(plan.segments().concat() == message[100..]);
    });
}

#[test]
fn taking_a_tensor_out_of_an_owned_plan_copies_nothing() {
    let tensor = ramp(10_000);
    let mut plan: OwnedPlan = Plan::new(&tensor).unwrap().into_owned().unwrap();
    plan.advance(plan.len() - 10_000);
    assert_eq!(plan.copy_to_bytes(4000).as_ptr(), tensor.bytes().as_ptr());
    assert_eq!(plan.copy_to_bytes(6000).as_ptr(), tensor.bytes()[4000..].as_ptr());
}

#[test]
fn a_message_goes_into_a_slice_and_nothing_behind_it_is_touched() {
    with_mixed(|mixed, encoder| {
        let plan = encoder.plan(mixed).unwrap();
        let message = written(&plan);
        for behind in [0, 1, 100] {
            let mut slice = vec![0xee; message.len() + behind];
            plan.copy_to_slice(&mut slice).unwrap();
            assert!(slice[..message.len()] == message);
            assert!(slice[message.len()..].iter().all(|&byte| byte == 0xee));
        }
        let mut short = vec![0xee; message.len() - 1];
        let error = plan.copy_to_slice(&mut short).unwrap_err();
        assert_eq!(error.category(), Category::Limit);
        assert!(error.to_string().contains(&message.len().to_string()), "{error}");
        assert!(error.to_string().contains(&short.len().to_string()), "{error}");
        assert!(short.iter().all(|&byte| byte == 0xee));
    });
}

#[test]
fn slices_are_lent_where_all_can_be() {
    let value = (Rollout::sample(), vec![0.5f32; 1000]);
    let plan = Plan::new(&value).unwrap();
    let slices = plan.io_slices().unwrap();
    assert!(slices.iter().all(|slice| !slice.is_empty()));
    assert!(slices.iter().any(|slice| slice.as_ptr() == value.1.as_ptr().cast()));
    let mut message = Vec::new();
    for slice in &slices {
        message.extend_from_slice(slice);
    }
    assert!(message == written(&plan));
    with_mixed(|mixed, encoder| assert!(encoder.plan(mixed).unwrap().io_slices().is_none()));
}

#[test]
fn a_copy_that_fails_names_its_field() {
    let value = vec![OnDevice(ramp(900), false), OnDevice(ramp(900), true)];
    let plan = || Encoder::new().device_copies(DeviceCopies::Allow).plan(&value).unwrap();
    let (to_slice, owned) = (plan().copy_to_slice(&mut [0; 4096]), plan().into_owned());
    for error in [
        plan().to_segments().unwrap_err(),
        to_slice.unwrap_err(),
        owned.unwrap_err(),
    ] {
        assert_eq!((error.category(), error.path()), (Category::Backend, Some("[1]")));
    }
    #[cfg(unix)]
    {
        let file = std::fs::File::options().write(true).open("/dev/null").unwrap();
        let error = plan().write_to_fd(&file).unwrap_err();
        assert_eq!((error.category(), error.path()), (Category::Backend, Some("[1]")));
    }
}

#[cfg(unix)]
mod descriptors {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    /// Reads slowly to the end, so that the writer has to wait.
    fn drain(mut socket: UnixStream) -> thread::JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let mut read = Vec::new();
            let mut piece = vec![0; 10_000];
            loop {
                match socket.read(&mut piece).unwrap() {
                    0 => return read,
                    len => read.extend_from_slice(&piece[..len]),
                }
                thread::yield_now();
            }
        })
    }

    #[test]
    fn files_pipes_and_sockets_get_the_message() {
        with_mixed(|mixed, encoder| {
            let plan = encoder.plan(mixed).unwrap();
            let message = written(&plan);
            let (mut reader, writer) = io::pipe().unwrap();
            let read = thread::spawn(move || {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).unwrap();
                read
            });
            plan.write_to_fd(&writer).unwrap();
            drop(writer);
            assert!(read.join().unwrap() == message);
        });
    }

    #[test]
    fn a_socket_that_does_not_block_is_waited_for() {
        // Many times what a socket holds.
        let value = (ramp(3 << 20), OnDevice(ramp(3 << 20), false), ramp(700));
        let encoder = Encoder::new().device_copies(DeviceCopies::Allow);
        let plan = encoder.plan(&value).unwrap();
        for blocks in [true, false] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(!blocks).unwrap();
            let read = drain(theirs);
            plan.write_to_fd(&ours).unwrap();
            drop(ours);
            assert!(read.join().unwrap() == written(&plan));
        }
    }

    #[test]
    fn a_descriptor_that_fails_keeps_its_own_error() {
        let value = ramp(3 << 20);
        let plan = Plan::new(&value).unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let error = plan.write_to_fd(&ours).unwrap_err();
        assert_eq!(error.category(), Category::Io);
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::BrokenPipe);
        let read_only = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(plan.write_to_fd(&read_only).unwrap_err().category(), Category::Io);
    }
}

/// The flush of an owned plan's writer, which buffers.
#[test]
fn an_owned_plan_flushes_its_writer() {
    struct Flushed(bool);
    impl Write for Flushed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = false;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.0 = true;
            Ok(())
        }
    }
    let value = ramp(1000);
    let mut writer = Flushed(false);
    Plan::new(&value)
        .unwrap()
        .into_owned()
        .unwrap()
        .write_to(&mut writer)
        .unwrap();
    assert!(writer.0);
}
