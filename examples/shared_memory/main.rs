//! 248 MB handed to another process in shared memory, and used there where they are.
//!
//! [iceoryx2](https://docs.rs/iceoryx2) lends the sender a piece of shared memory, into which the message is written, and lends it to the
//! receiver, which decodes it without a copy. In two terminals, the receiver first:
//!
//! ```console
//! $ cargo run --release -p serde-tensor-examples --features iceoryx2 --example shared_memory -- receive
//! $ cargo run --release -p serde-tensor-examples --features iceoryx2 --example shared_memory -- send
//! ```
//!
//! Nothing is left when both have ended. What a process leaves that was killed, the next that uses the service removes. Two that are to meet
//! neither these nor others name a domain of their own behind `receive` and `send`.

mod domain;
mod fill;
mod state;

use std::time::{Duration, Instant};

use iceoryx2::port::publisher::Publisher;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::PortFactory as _;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;
use serde_tensor::Plan;

use domain::Domain;
use state::{State, Values};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// That of a message's segments: where the message is aligned so, its tensors are.
const ALIGNMENT: usize = 64;

/// How long one waits between looks.
const PAUSE: Duration = Duration::from_millis(1);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (role, name) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [role] => (role, "serde-tensor-shared-memory"),
        [role, name] => (role, name),
        _ => ("", ""),
    };
    let role: fn(&Node<ipc::Service>, &Service) -> Result<()> = match role {
        "send" => send,
        "receive" => receive,
        _ => return Err("`send` or `receive`, and the name of a domain if it is to be another".into()),
    };
    // Before the node, so that it goes after it.
    let domain = Domain::enter(name);
    let node = NodeBuilder::new().config(&domain.config()?).create::<ipc::Service>()?;
    // One message at a time, since the memory is set aside for as many as there may be.
    let service = node
        .service_builder(&"serde-tensor/state".try_into()?)
        .publish_subscribe::<[u8]>()
        .payload_alignment(Alignment::new(ALIGNMENT).ok_or("an alignment")?)
        .max_publishers(1)
        .max_subscribers(1)
        .history_size(0)
        .subscriber_max_buffer_size(1)
        .subscriber_max_borrowed_samples(1)
        .open_or_create()?;
    role(&node, &service)
}

type Service = PortFactory<ipc::Service, [u8], ()>;

fn send(node: &Node<ipc::Service>, service: &Service) -> Result<()> {
    // Copies: parts of one memory that overlap would travel once.
    let layers: Vec<Vec<u8>> = Values::new()?.layers().map(<[u8]>::to_vec).collect();
    let state = State::of(layers.iter().map(Vec::as_slice))?;
    let plan = Plan::new(&state)?;
    let publisher: Publisher<ipc::Service, [u8], ()> = service
        .publisher_builder()
        .initial_max_slice_len(plan.len())
        .override_sample_preallocation(|_| 1)
        .create()?;
    wait(node, || service.dynamic_config().number_of_subscribers() == 1)?;

    let start = Instant::now();
    let sample = publisher.loan_slice_uninit(plan.len())?;
    let sample = fill::with_plan(sample, &plan)?;
    let written = start.elapsed();
    if sample.send()? != 1 {
        return Err("nobody received it".into());
    }
    println!("{} bytes sent", plan.len());
    eprintln!("written in {written:?}");
    // The memory is the publisher's, so it stays until the receiver is done, or was killed.
    wait(node, || {
        node.try_cleanup_dead_nodes();
        service.dynamic_config().number_of_subscribers() == 0
    })
}

fn receive(node: &Node<ipc::Service>, service: &Service) -> Result<()> {
    let subscriber = service.subscriber_builder().create()?;
    println!("waiting");
    let mut arrived = None;
    wait(node, || {
        arrived = subscriber.receive().transpose();
        arrived.is_some()
    })?;
    let sample = arrived.ok_or("nothing arrived")??;

    let start = Instant::now();
    let state: State<'_> = serde_tensor::from_slice(sample.payload())?;
    let decoded = start.elapsed();

    let memory = sample.payload().as_ptr_range();
    for (name, layer) in &state.layers {
        let bytes = layer.bytes();
        if !memory.contains(&bytes.as_ptr()) || !bytes.as_ptr().addr().is_multiple_of(ALIGNMENT) {
            return Err(format!("{name} is not used where it is").into());
        }
    }
    if state != State::of(Values::new()?.layers())? {
        return Err("other values than were sent".into());
    }
    println!(
        "{} tensors, {} bytes, used where they are",
        state.layers.len(),
        state.bytes()
    );
    eprintln!("decoded in {decoded:?}");
    Ok(())
}

/// Waits until something is so, or a signal ends the process.
fn wait(node: &Node<ipc::Service>, mut holds: impl FnMut() -> bool) -> Result<()> {
    while !holds() {
        node.wait(PAUSE)?;
    }
    Ok(())
}
