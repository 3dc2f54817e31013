//! A message larger than NATS takes, in chunks through a server, which may be restarted meanwhile.
//!
//! Start a server (`nats-server`), then in two terminals, the receiver first:
//!
//! ```console
//! $ cargo run -p serde-tensor-examples --features nats --example nats -- receive
//! $ cargo run -p serde-tensor-examples --features nats --example nats -- send
//! ```
//!
//! `send --slowly` leaves time to stop the server in the middle and to start it again. A server that is not at `127.0.0.1:4222` is
//! named in the environment variable `NATS_URL`.

mod transfer;

use std::time::{Duration, Instant};

use serde_tensor::{Plan, Reassembler, Tensor, TensorDeserialize, TensorSerialize};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SUBJECT: &str = "serde-tensor.activations";

/// 20 MB, where NATS takes 1 MiB.
const VALUES: u32 = 5_000_000;

#[derive(TensorSerialize, TensorDeserialize)]
struct Activations {
    layer: String,
    #[tensor]
    values: Tensor,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = std::env::var("NATS_URL").unwrap_or_else(|_| "nats://127.0.0.1:4222".to_owned());
    let client = async_nats::connect(url).await?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["receive"] => receive(&client).await,
        ["send"] => send(&client, Duration::ZERO).await,
        ["send", "--slowly"] => send(&client, Duration::from_millis(100)).await,
        _ => Err("`receive`, `send` or `send --slowly`".into()),
    }
}

async fn send(client: &async_nats::Client, pause: Duration) -> Result<()> {
    let activations = Activations {
        layer: "encoder.3".to_owned(),
        values: Tensor::from_vec(values().collect(), &[VALUES as usize])?,
    };
    let plan = Plan::new(&activations)?;
    let limit = client.max_payload();
    println!("{} bytes through a limit of {limit}", plan.len());
    transfer::send(client, SUBJECT, &plan, pause).await?;
    println!("received");
    Ok(())
}

async fn receive(client: &async_nats::Client) -> Result<()> {
    let mut chunks = client.subscribe(SUBJECT).await?;
    // The server knows of it now, so nothing that is sent from here on is missed.
    client.flush().await?;
    println!("waiting");
    let start = Instant::now();
    let activations: Activations = transfer::receive(client, &mut chunks, &mut Reassembler::new()).await?;
    let elements = activations.values.elements::<f32>()?;
    if !elements.iter().copied().eq(values()) {
        return Err("other values than were sent".into());
    }
    println!("{} values of {}, all as sent", elements.len(), activations.layer);
    eprintln!("after {:?}", start.elapsed());
    Ok(())
}

/// What is sent, and known on both sides.
fn values() -> impl Iterator<Item = f32> {
    (0..VALUES).map(|value| f32::from_bits(0x3f80_0000 | (value.wrapping_mul(2_654_435_761) >> 9)))
}
