//! The dataflow: sums over all workers, the same bits however many there are.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};
use timely::container::{CapacityContainerBuilder, DrainContainer as _};
use timely::dataflow::channels::pact::ExchangeCore;
use timely::dataflow::operators::{Input as _, Operator as _, Probe as _};
use timely::dataflow::{InputHandle, ProbeHandle};
use timely::worker::Worker;

use crate::Result;
use crate::messages::Messages;

/// What one shard of the digits adds to the sum of a class.
#[derive(Clone, Debug, TensorSerialize, TensorDeserialize)]
pub(crate) struct Part {
    pub(crate) class: usize,
    pub(crate) shard: usize,
    /// Of the shard's digits, those of the class.
    pub(crate) count: u32,
    pub(crate) loss: f64,
    /// f64, of the same shape in all parts of a round.
    #[tensor]
    pub(crate) values: Tensor,
}

/// The sum of a class, on its way to a worker.
#[derive(Clone, TensorSerialize, TensorDeserialize)]
struct Sum {
    to: usize,
    #[tensor]
    sum: Part,
}

type Builder<T> = CapacityContainerBuilder<Messages<T>>;

/// One worker's end of the dataflow.
pub(crate) struct AllReduce {
    input: InputHandle<u64, Builder<Part>>,
    arrived: Rc<RefCell<Vec<Part>>>,
    probe: ProbeHandle<u64>,
}

impl AllReduce {
    /// Builds it: the parts of a class go to one worker, which sends their sum to all.
    pub(crate) fn new(worker: &mut Worker) -> Self {
        let peers = worker.peers();
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let here = Rc::clone(&arrived);
        let to_the_classes = ExchangeCore::<Builder<Part>, _>::new_core(|part: &Part| part.class as u64);
        let to_all = ExchangeCore::<Builder<Sum>, _>::new_core(|sum: &Sum| sum.to as u64);
        worker.dataflow::<u64, _, _>(|scope| {
            let (input, parts) = scope.new_input_with_builder::<Builder<Part>>();
            let sums = parts.unary_frontier::<Builder<Sum>, _, _, _>(to_the_classes, "sum", |_, _| {
                let mut rounds = BTreeMap::new();
                move |(input, frontier), output| {
                    input.for_each_stamp(|capability, containers| {
                        if let Some(round) = capability.retain_least(output.output_index()) {
                            let (_, parts) = rounds.entry(*round.time()).or_insert((round, Vec::new()));
                            containers.for_each(|container| parts.extend(container.drain()));
                        }
                    });
                    // A round is complete when the frontier says that nothing more can come of it.
                    while let Some(round) = rounds.first_entry().filter(|round| !frontier.less_equal(round.key())) {
                        let (capability, parts) = round.remove();
                        let mut session = output.session(&capability);
                        for sum in by_class(parts).expect("parts of one shape") {
                            (0..peers).for_each(|to| session.give(Sum { to, sum: sum.clone() }));
                        }
                    }
                }
            });
            let collected = sums.unary::<Builder<Sum>, _, _, _>(to_all, "collect", |_, _| {
                move |input, _| {
                    input.for_each_stamp(|_, containers| {
                        containers.for_each(|container| here.borrow_mut().extend(container.drain().map(|sum| sum.sum)));
                    });
                }
            });
            let (probe, _) = collected.probe();
            Self { input, arrived, probe }
        })
    }

    /// Gives this worker's parts of a round and waits for the sums over all workers', by class.
    pub(crate) fn sum(&mut self, worker: &mut Worker, parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
        parts.into_iter().for_each(|part| self.input.send(part));
        self.input.advance_to(self.input.time() + 1);
        worker.step_while(|| self.probe.less_than(self.input.time()));
        let mut sums = self.arrived.take();
        sums.sort_by_key(|sum| sum.class);
        sums
    }
}

/// Adds up the parts of each class in the order of their shards, whatever order they came in: sums of floats depend on it.
fn by_class(mut parts: Vec<Part>) -> Result<Vec<Part>> {
    parts.sort_by_key(|part| (part.class, part.shard));
    parts.chunk_by(|one, next| one.class == next.class).map(sum).collect()
}

fn sum(parts: &[Part]) -> Result<Part> {
    let (first, others) = parts.split_first().ok_or("a class without parts")?;
    let mut values = first.values.elements::<f64>()?.into_owned();
    for part in others {
        let more = part.values.elements::<f64>()?;
        values.iter_mut().zip(&*more).for_each(|(sum, value)| *sum += value);
    }
    Ok(Part {
        class: first.class,
        shard: first.shard,
        count: parts.iter().map(|part| part.count).sum(),
        loss: parts.iter().map(|part| part.loss).sum(),
        values: Tensor::from_vec(values, first.values.shape())?,
    })
}
