//! An inference service over HTTP, with axum, and a client with reqwest: the bodies are messages with tensors.
//!
//! In one terminal, and then in another:
//!
//! ```text
//! cargo run --example axum --features axum -- serve 127.0.0.1:5006
//! cargo run --example axum --features axum -- ask http://127.0.0.1:5006
//! ```

mod model;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use serde_tensor::axum::{Arrival, MEDIA_TYPE, Tensors};
use serde_tensor::{Decoder, Device, Limits};
use tokio::net::TcpListener;

use model::{Batch, Logits, Model, Result, digits};

/// The longest request, in bytes.
const LONGEST: u32 = 16 << 20;

/// What all requests share.
#[derive(Clone)]
struct Service {
    model: Arc<Model>,
    arrival: Arrival,
}

/// `Tensors` asks the state how to decode.
impl FromRef<Service> for Arrival {
    fn from_ref(service: &Service) -> Self {
        service.arrival.clone()
    }
}

async fn classify(
    State(service): State<Service>,
    Tensors(batch): Tensors<Batch>,
) -> std::result::Result<Tensors<Logits>, (StatusCode, String)> {
    let logits = service.model.classify(&batch);
    logits
        .map(Tensors)
        .map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address).await,
        ["ask", url] => ask(url).await,
        _ => Err("usage: axum serve ADDRESS, or axum ask URL".into()),
    }
}

async fn serve(address: &str) -> Result<()> {
    let limits = Limits::new().message(LONGEST.into());
    let service = Service {
        model: Arc::new(Model::train()?),
        // With a tensor type that knows devices, this is where requests would go to a GPU.
        arrival: Arrival::new()
            .device(Device::Cpu)
            .decoder(Decoder::new().limits(limits)),
    };
    let router = Router::new()
        .route("/classify", post(classify))
        // The limit above says the length and the limit; axum's own, of 2 MB, would come first.
        .layer(DefaultBodyLimit::disable())
        .with_state(service);
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn ask(url: &str) -> Result<()> {
    let (images, labels) = digits()?;
    let request = reqwest::Client::new()
        .post(format!("{url}/classify"))
        .header(CONTENT_TYPE, MEDIA_TYPE)
        .body(serde_tensor::to_vec(&Batch { images })?);
    let response = request.send().await?;
    if response.status() != StatusCode::OK {
        return Err(format!("{}: {}", response.status(), response.text().await?).into());
    }
    let logits: Logits = serde_tensor::from_bytes(response.bytes().await?)?;
    let right = logits
        .classes()?
        .iter()
        .zip(&labels)
        .filter(|(found, label)| found == label)
        .count();
    println!("{right} of {} digits are named rightly", labels.len());
    Ok(())
}
