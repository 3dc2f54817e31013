//! Values that change their mind between the two passes of a plan: the message is what the second pass saw, or there is an error.
//!
//! Without these a tensor could be sent with another's bytes, or with bytes that are no longer its own.

use std::cell::{Cell, RefCell};

use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::{Category, DType, Encoder, Plan, Result, Tensor, TensorSerialize, from_slice};

use crate::ramp;

fn written(plan: &Plan<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    plan.write_to(&mut bytes).unwrap();
    assert_eq!(bytes.len(), plan.len());
    bytes
}

/// Gives its elements one after another, then the last for ever.
struct Script<T> {
    steps: Vec<T>,
    at: Cell<usize>,
}

impl<T: Clone> Script<T> {
    fn new(steps: &[T]) -> Self {
        Self {
            steps: steps.to_vec(),
            at: Cell::new(0),
        }
    }

    fn next(&self) -> T {
        let at = self.at.get();
        self.at.set((at + 1).min(self.steps.len() - 1));
        self.steps[at].clone()
    }
}

/// A tensor of bytes that says something else each time it is asked what it is. Its bytes follow what it said last.
struct Fickle {
    lens: Script<usize>,
    said: Cell<usize>,
}

impl Fickle {
    fn new(lens: &[usize]) -> Self {
        Self {
            lens: Script::new(lens),
            said: Cell::new(0),
        }
    }
}

impl TensorBackend for Fickle {
    const HOST_ONLY: bool = true;

    fn describe(&self) -> Result<Description<'_>> {
        self.said.set(self.lens.next());
        Ok(Description::new(DType::U8, &[self.said.get()]))
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| sink(ramp(self.said.get()).bytes())))
    }

    fn import(_: Import<'_>) -> Result<Imported<Self>> {
        Err(serde_tensor::Error::backend("is not read"))
    }
}

serde_tensor::impl_tensor!(Fickle);

#[test]
fn a_tensor_that_becomes_another_while_it_is_planned_is_an_error_or_is_sent_as_what_it_became() {
    for first in [0, 10, 600, 5000] {
        for second in [0, 10, 600, 5000] {
            let value = [Fickle::new(&[700]), Fickle::new(&[first, second]), Fickle::new(&[800])];
            match Plan::new(&value) {
                // Those behind it are not disturbed.
                Ok(plan) => assert_eq!(
                    from_slice::<Vec<Tensor>>(&written(&plan)).unwrap(),
                    [ramp(700), ramp(second), ramp(800)],
                    "{first} {second}"
                ),
                Err(error) => {
                    assert_ne!(first, second);
                    assert_eq!(
                        (error.category(), error.path()),
                        (Category::Data, Some("[1]")),
                        "{error}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_tensor_that_becomes_another_after_it_was_planned_is_an_error_when_it_is_written() {
    let value = [Fickle::new(&[700]), Fickle::new(&[600])];
    let plan = Plan::new(&value).unwrap();
    for len in [599, 601, 0] {
        value[1].said.set(len);
        let error = plan.write_to(Vec::new()).unwrap_err();
        assert_eq!(
            (error.category(), error.path()),
            (Category::Backend, Some("[1]")),
            "{error}"
        );
        assert!(plan.to_segments().is_err());
        assert!(plan.copy_to_slice(&mut vec![0; plan.len()]).is_err());
    }
    value[1].said.set(600);
    assert_eq!(
        from_slice::<Vec<Tensor>>(&written(&plan)).unwrap(),
        [ramp(700), ramp(600)]
    );
}

thread_local! {
    static SKIPS: RefCell<Script<bool>> = RefCell::new(Script::new(&[false]));
}

fn skips<T>(_: &T) -> bool {
    SKIPS.with_borrow(Script::next)
}

#[derive(TensorSerialize)]
struct Skipping {
    #[tensor]
    first: Tensor,
    #[tensor]
    #[serde(skip_serializing_if = "skips")]
    second: Tensor,
    #[tensor]
    third: Tensor,
}

#[derive(serde_tensor::TensorDeserialize, Debug, PartialEq)]
struct Skipped {
    #[tensor]
    first: Tensor,
    #[tensor]
    second: Option<Tensor>,
    #[tensor]
    third: Tensor,
}

#[test]
fn a_condition_with_a_mind_of_its_own_leaves_a_tensor_out_or_not() {
    for len in [10, 600] {
        let value = Skipping {
            first: ramp(700),
            second: ramp(len),
            third: ramp(800),
        };
        let ways = [false, true];
        for script in ways
            .iter()
            .flat_map(|&a| ways.map(|b| ways.map(|c| [a, b, c])).concat())
        {
            SKIPS.set(Script::new(&script));
            // serde asks twice, for the length and for the field: where the answers differ there is an error.
            let Ok(plan) = Plan::new(&value) else { continue };
            let read: Skipped = from_slice(&written(&plan)).unwrap();
            assert_eq!((&read.first, &read.third), (&value.first, &value.third), "{script:?}");
            assert!(read.second.is_none_or(|second| second == value.second), "{script:?}");
        }
    }
}

/// Shows its tensors to the plan in one way, and writes them in another.
struct Rearranged<'a> {
    shown: Vec<&'a Tensor>,
    written: Vec<&'a Tensor>,
}

impl Serialize for Rearranged<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.written.len())?;
        for tensor in &self.written {
            tuple.serialize_element(tensor)?;
        }
        tuple.end()
    }
}

impl TensorSerialize for Rearranged<'_> {
    const PRESENCE: serde_tensor::Presence = serde_tensor::Presence::Maybe;

    fn contains_tensor(&self) -> bool {
        !self.written.is_empty()
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut serde_tensor::TensorVisitor<'a, '_>) -> Result<()> {
        self.shown.iter().try_for_each(|tensor| visitor.leaf(*tensor))
    }
}

#[test]
fn tensors_that_are_dropped_repeated_or_in_another_order_are_sent_as_they_are_written() {
    let tensors = [ramp(600), ramp(700), ramp(10), ramp(800)];
    let [a, b, c, d] = tensors.each_ref();
    for (shown, written_as) in [
        (vec![a, b, c, d], vec![d, c, b, a]),
        (vec![a, b, c, d], vec![b]),
        (vec![a, b], vec![a, a, b, a, b]),
        (vec![a, a, b], vec![b, a]),
        (vec![], vec![a, b, c]),
        (vec![c, c], vec![c, d]),
        (vec![a], vec![]),
    ] {
        for checksums in [false, true] {
            let value = Rearranged {
                shown: shown.clone(),
                written: written_as.clone(),
            };
            let message = written(&Encoder::new().checksums(checksums).plan(&value).unwrap());
            let read: Vec<Tensor> = from_slice(&message).unwrap();
            assert!(read.iter().eq(written_as.iter().copied()));
        }
    }
}

#[test]
fn what_changes_behind_a_cell_is_copied_when_it_is_planned() {
    #[derive(TensorSerialize)]
    struct Holds {
        #[tensor]
        before: Tensor,
        #[tensor]
        cell: RefCell<Tensor>,
    }
    let value = Holds {
        before: ramp(600),
        cell: RefCell::new(ramp(700)),
    };
    let plan = Plan::new(&value).unwrap();
    assert_eq!(plan.copied(), 700);
    value.cell.replace(ramp(5000));
    let read: std::collections::BTreeMap<String, Tensor> = from_slice(&written(&plan)).unwrap();
    assert_eq!((&read["before"], &read["cell"]), (&ramp(600), &ramp(700)));
}
