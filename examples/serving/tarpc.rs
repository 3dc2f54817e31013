//! An inference service over TCP, with tarpc: requests and replies hold tensors.
//!
//! In one terminal, and then in another:
//!
//! ```text
//! cargo run --release --example tarpc --features tarpc -- serve 127.0.0.1:5005
//! cargo run --release --example tarpc --features tarpc -- ask 127.0.0.1:5005
//! ```
//!
//! All that is special about it is `SerdeTensor`, where another service has `Bincode` or `Json`.

mod model;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::try_join_all;
use serde_tensor::tokio_serde::SerdeTensor;
use serde_tensor::{Device, Tensor, device};
use tarpc::context::{self, Context};
use tarpc::serde_transport::tcp;
use tarpc::server::{BaseChannel, Channel as _};

use model::{Batch, Logits, Model, Result, digits};

/// tarpc refuses messages above 8 MiB, unless both sides say otherwise.
const LONGEST: usize = 1 << 30;

/// The most zeros in a reply, in bytes.
const LARGEST: usize = 200_000_000;

#[tarpc::service]
trait Classifier {
    /// A row of logits for each image.
    async fn classify(batch: Batch) -> std::result::Result<Logits, String>;

    /// As many zeros, to see how long a large reply takes.
    async fn zeros(len: usize) -> std::result::Result<Tensor, String>;
}

#[derive(Clone)]
struct Server {
    model: Arc<Model>,
}

impl Classifier for Server {
    async fn classify(self, _: Context, batch: Batch) -> std::result::Result<Logits, String> {
        self.model.classify(&batch).map_err(|error| error.to_string())
    }

    async fn zeros(self, _: Context, len: usize) -> std::result::Result<Tensor, String> {
        // What a client asks for is not allocated unseen.
        if len > LARGEST {
            return Err(format!("{len} zeros, above the limit of {LARGEST}"));
        }
        Tensor::from_vec(vec![0_u8; len], &[len]).map_err(|error| error.to_string())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address).await,
        ["ask", address] => ask(address).await,
        _ => Err("usage: tarpc serve ADDRESS, or tarpc ask ADDRESS".into()),
    }
}

async fn serve(address: &str) -> Result<()> {
    let server = Server {
        model: Arc::new(Model::train()?),
    };
    let mut connections = tcp::listen(address, SerdeTensor::default).await?;
    connections.config_mut().max_frame_length(LONGEST);
    println!("listening on {}", connections.local_addr());
    while let Some(connection) = connections.next().await {
        // A connection that could not be taken, for want of file descriptors say, is no reason to leave the others.
        let connection = match connection {
            Ok(connection) => connection,
            Err(error) => {
                eprintln!("not connected: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let channel = BaseChannel::with_defaults(connection);
        let requests = channel.execute(server.clone().serve());
        let replies = requests.for_each(async |reply| drop(tokio::spawn(reply)));
        // Requests are decoded in the task of their connection: its scope says where their tensors land. With a tensor type that knows
        // devices, this is where each connection would get a GPU of its own.
        tokio::spawn(device::scope(Device::Cpu, replies));
    }
    Ok(())
}

async fn ask(address: &str) -> Result<()> {
    let mut connecting = tcp::connect(address, SerdeTensor::default);
    connecting.config_mut().max_frame_length(LONGEST);
    let client = ClassifierClient::new(tarpc::client::Config::default(), connecting.await?).spawn();

    // Four batches at once: every fourth digit each.
    let (images, labels) = digits()?;
    let images = images.elements::<u8>()?;
    let batches = (0..4).map(|part| {
        let images: Vec<u8> = images.chunks(64).skip(part).step_by(4).flatten().copied().collect();
        let batch = Tensor::from_vec(images, &[labels.iter().skip(part).step_by(4).count(), 8, 8]);
        let client = client.clone();
        async move {
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(
                client.classify(context::current(), Batch { images: batch? }).await??,
            )
        }
    });
    let mut right = 0;
    for (part, logits) in try_join_all(batches).await?.iter().enumerate() {
        let classes = logits.classes()?;
        right += classes
            .iter()
            .zip(labels.iter().skip(part).step_by(4))
            .filter(|(found, label)| found == label)
            .count();
    }
    println!("{right} of {} digits are named rightly", labels.len());

    let start = Instant::now();
    let zeros = client.zeros(context::current(), LARGEST).await??;
    println!(
        "a reply of {} MB took {:?}",
        zeros.bytes().len() / 1_000_000,
        start.elapsed()
    );
    Ok(())
}
