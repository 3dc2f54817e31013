//! Values with tensors as one of timely's containers, so that timely sends them in our format.

use timely::Accountable;
use timely::bytes::arc::Bytes as Slab;
use timely::container::{DrainContainer, PushInto, SizableContainer};
use timely::dataflow::channels::ContainerBytes;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_tensor::{Encoder, Plan, TensorSerialize};

/// What timely rounds to: everything between two processes starts at a multiple of it.
const WORD: usize = 8;

/// Records of a stream, kept together as timely wants them.
///
/// Between threads they move as they are. Between processes they are bytes: the length of the message in 8 bytes, one message, zeros up to
/// a multiple of 8. timely asks for the exact length first, and a [`Plan`] knows it without looking at a tensor's bytes.
#[derive(Clone)]
pub(crate) struct Messages<T>(Vec<T>);

impl<T: TensorSerialize> Messages<T> {
    /// Planned anew for the length and for the bytes, which is cheap: no tensor is copied for it.
    fn plan(&self) -> Plan<'_> {
        // Only segments are aligned; by default a tensor of up to 512 bytes is not one.
        let encoder = Encoder::new().inline_limit(WORD);
        encoder.plan(&self.0).expect("records can be encoded")
    }
}

/// timely knows no errors here, so a failure is a panic, which ends the worker.
impl<T: TensorSerialize + DeserializeOwned> ContainerBytes for Messages<T> {
    fn length_in_bytes(&self) -> usize {
        WORD + self.plan().len().next_multiple_of(WORD)
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        let plan = self.plan();
        let padding = plan.len().next_multiple_of(WORD) - plan.len();
        let len = u64::try_from(plan.len()).expect("a length of 64 bits");
        writer.write_all(&len.to_le_bytes()).expect("timely made room");
        plan.write_to(&mut *writer).expect("timely made room");
        writer.write_all(&[0; WORD][..padding]).expect("timely made room");
    }

    /// The tensors stay in the memory into which timely received them, which lives as long as they do.
    fn from_bytes(slab: Slab) -> Self {
        let bytes = Bytes::from_owner(Received(slab));
        let (len, message) = bytes.split_first_chunk::<WORD>().expect("a length");
        let len = usize::try_from(u64::from_le_bytes(*len)).expect("a length that fits");
        let message = bytes.slice_ref(&message[..len]);
        Self(serde_tensor::from_bytes(message).expect("a message of these records"))
    }
}

/// Memory of timely's, for `Bytes` to own.
struct Received(Slab);

impl AsRef<[u8]> for Received {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

// What timely needs of a container besides: all of it is `Vec`'s.

impl<T> Default for Messages<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Accountable for Messages<T> {
    fn record_count(&self) -> i64 {
        self.0.record_count()
    }
}

impl<T> DrainContainer for Messages<T> {
    type Item<'a>
        = T
    where
        T: 'a;
    type DrainIter<'a>
        = std::vec::Drain<'a, T>
    where
        T: 'a;

    fn drain(&mut self) -> Self::DrainIter<'_> {
        self.0.drain(..)
    }
}

impl<T> SizableContainer for Messages<T> {
    fn at_capacity(&self) -> bool {
        self.0.at_capacity()
    }

    fn ensure_capacity(&mut self, stash: &mut Option<Self>) {
        let mut inner = stash.take().map(|stash| stash.0);
        self.0.ensure_capacity(&mut inner);
        *stash = inner.map(Self);
    }
}

impl<T> PushInto<T> for Messages<T> {
    fn push_into(&mut self, item: T) {
        self.0.push(item);
    }
}
