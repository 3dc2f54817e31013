//! An actor that another process asks, with kameo, which encodes with MessagePack: the same types travel in that.
//!
//! In two terminals:
//!
//! ```console
//! $ cargo run -p serde-tensor-examples --features kameo --example kameo -- serve /ip4/127.0.0.1/tcp/4600
//! $ cargo run -p serde-tensor-examples --features kameo --example kameo -- ask /ip4/127.0.0.1/tcp/4600
//! ```
//!
//! kameo fixes its format, rmp-serde, so a tensor is a pair of byte strings there, and is copied on both sides. kameo then wraps those
//! bytes in CBOR as an array of numbers, which nearly doubles them, and takes requests of 1 MiB and replies of 10 MiB unless
//! [`messaging::Config`] says otherwise. For large tensors use another transport, and let actors send where to fetch them.

use std::time::Duration;

use futures_util::StreamExt as _;
use kameo::prelude::*;
use kameo::remote::{Behaviour, messaging};
use libp2p::swarm::SwarmEvent;
use libp2p::{Multiaddr, Swarm, SwarmBuilder, noise, tcp, yamux};
use safetensors::SafeTensors;
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Adds up the images that it is given.
#[derive(Actor, RemoteActor)]
struct Adder;

#[derive(TensorSerialize, TensorDeserialize)]
struct Batch {
    name: String,
    /// u8 [n, 8, 8].
    #[tensor]
    images: Tensor,
}

#[derive(Debug, PartialEq, Reply, TensorSerialize, TensorDeserialize)]
enum Sum {
    Images {
        name: String,
        /// u32 [8, 8].
        #[tensor]
        sum: Tensor,
    },
    Refused(String),
}

#[remote_message]
impl Message<Batch> for Adder {
    type Reply = Sum;

    async fn handle(&mut self, batch: Batch, _: &mut Context<Self, Sum>) -> Sum {
        sum(&batch).unwrap_or_else(|error| Sum::Refused(error.to_string()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?).await,
        ["ask", address] => ask(address.parse()?).await,
        _ => Err("`serve ADDRESS` or `ask ADDRESS`".into()),
    }
}

async fn serve(address: Multiaddr) -> Result<()> {
    let mut swarm = swarm()?;
    swarm.listen_on(address)?;
    let address = loop {
        match swarm.select_next_some().await {
            SwarmEvent::NewListenAddr { address, .. } => break address,
            SwarmEvent::ListenerClosed { reason, .. } => return Err(format!("{reason:?}").into()),
            _ => {}
        }
    };
    let running = tokio::spawn(run(swarm));
    let adder = Adder::spawn(Adder);
    adder.register("adder").await?;
    println!("serving at {address}");
    running.await?;
    Ok(())
}

async fn ask(address: Multiaddr) -> Result<()> {
    let mut swarm = swarm()?;
    swarm.dial(address.clone())?;
    let peer = loop {
        match swarm.select_next_some().await {
            SwarmEvent::ConnectionEstablished { peer_id, .. } => break peer_id,
            SwarmEvent::OutgoingConnectionError { error, .. } => return Err(error.into()),
            _ => {}
        }
    };
    // Or a peer that is connected would not be asked for actors.
    swarm.add_peer_address(peer, address);
    tokio::spawn(run(swarm));
    let adder = lookup("adder").await?;

    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/digits.safetensors"))?;
    let images = SafeTensors::deserialize(&file)?.tensor("images")?.data().to_vec();
    for (number, pixels) in (1..).zip(images.chunks(600 * IMAGE)) {
        let batch = batch(format!("batch {number}"), pixels)?;
        let reply = adder.ask(&batch).await?;
        if reply != sum(&batch)? {
            return Err(format!("another reply than expected: {reply:?}").into());
        }
        println!("{}", told(&reply)?);
    }
    let wrong = Batch {
        name: "no images".to_owned(),
        images: Tensor::scalar(1.5_f32),
    };
    println!("{}", told(&adder.ask(&wrong).await?)?);
    // A request of more than 1 MiB is cut off there, which its error does not say. The next one arrives again.
    let large = batch("large".to_owned(), &vec![255; 10_000 * IMAGE])?;
    if let Ok(reply) = adder.ask(&large).await {
        return Err(format!("a large request has the reply {reply:?}").into());
    }
    println!("too large");
    let small = batch("small".to_owned(), &[255; IMAGE])?;
    println!("{}", told(&adder.ask(&small).await?)?);
    Ok(())
}

fn batch(name: String, pixels: &[u8]) -> Result<Batch> {
    let images = Tensor::from_elements(pixels, &[pixels.len() / IMAGE, 8, 8])?;
    Ok(Batch { name, images })
}

fn told(reply: &Sum) -> Result<String> {
    Ok(match reply {
        Sum::Images { name, sum, .. } => format!("{name}: {} of ink", sum.elements::<u32>()?.iter().sum::<u32>()),
        Sum::Refused(why) => format!("refused: {why}"),
    })
}

/// Finds an actor, which takes a moment: the two processes tell each other what they know once they are connected.
async fn lookup(name: &'static str) -> Result<RemoteActorRef<Adder>> {
    for _ in 0..100 {
        if let Ok(Some(actor)) = RemoteActorRef::lookup(name).await {
            return Ok(actor);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("no actor `{name}` is known").into())
}

/// A node that is told where others are; `kameo::remote::bootstrap` makes one that looks for them in the local network.
fn swarm() -> Result<Swarm<Behaviour>> {
    let swarm = SwarmBuilder::with_new_identity()
        .with_tokio()
        .with_tcp(tcp::Config::default(), noise::Config::new, yamux::Config::default)?
        .with_behaviour(|key| Behaviour::new(key.public().to_peer_id(), messaging::Config::default()))?
        .build();
    swarm.behaviour().try_init_global()?;
    Ok(swarm)
}

async fn run(mut swarm: Swarm<Behaviour>) {
    loop {
        swarm.select_next_some().await;
    }
}

const IMAGE: usize = 8 * 8;

fn sum(batch: &Batch) -> Result<Sum> {
    if batch.images.shape().get(1..) != Some(&[8, 8]) {
        return Err(format!("images of {:?}", batch.images.shape()).into());
    }
    let pixels = batch.images.elements::<u8>()?;
    let (images, _) = pixels.as_chunks::<IMAGE>();
    let sum: Vec<u32> = (0..IMAGE)
        .map(|at| images.iter().map(|image| u32::from(image[at])).sum())
        .collect();
    Ok(Sum::Images {
        name: batch.name.clone(),
        sum: Tensor::from_vec(sum, &[8, 8])?,
    })
}
