//! Messages of any size over NATS, whose messages have a limit and may be lost.
//!
//! Core NATS delivers at most once: what is on its way when a server stops is gone. So the receiver says when a message is complete, and
//! the sender sends again what nobody said that of. If that word is lost, the message arrives twice.

use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_tensor::{Plan, Reassembler};
use tokio::time::{sleep, timeout};

use crate::Result;

/// How often a message is sent.
const ATTEMPTS: usize = 5;

/// How long the sender waits for the receiver's word.
const WORD: Duration = Duration::from_secs(5);

/// How long a message's chunks may keep one waiting until the rest counts as lost: less than that.
const SILENCE: Duration = Duration::from_secs(2);

/// Sends a message in chunks, as large as the server takes, until the receiver says that it arrived.
pub(crate) async fn send(client: &Client, subject: &str, plan: &Plan<'_>, pause: Duration) -> Result<()> {
    let inbox = client.new_inbox();
    let mut words = client.subscribe(inbox.clone()).await?;
    for attempt in 1..=ATTEMPTS {
        let chunks = plan.chunks(client.max_payload())?;
        let mut sent = 0;
        for chunk in chunks {
            client
                .publish_with_reply(subject.to_owned(), inbox.clone(), chunk?.into())
                .await?;
            sent += 1;
            if !pause.is_zero() {
                client.flush().await?;
                println!("chunk {sent}");
                sleep(pause).await;
            }
        }
        client.flush().await?;
        if let Ok(true) = timeout(WORD, has_arrived(&mut words)).await {
            return Ok(());
        }
        eprintln!("no word of the message's arrival after attempt {attempt}");
    }
    Err(format!("no word of the message's arrival after {ATTEMPTS} attempts").into())
}

/// Waits for the receiver's word. What has a status is the server's own, which says that nobody was there to receive a chunk.
async fn has_arrived(words: &mut Subscriber) -> bool {
    while let Some(word) = words.next().await {
        if word.status.is_none() {
            return true;
        }
    }
    false
}

/// Receives a message and says so to its sender.
pub(crate) async fn receive<T: DeserializeOwned>(
    client: &Client,
    chunks: &mut Subscriber,
    reassembler: &mut Reassembler,
) -> Result<T> {
    loop {
        let Ok(chunk) = timeout(SILENCE, chunks.next()).await else {
            give_up(reassembler);
            continue;
        };
        let chunk = chunk.ok_or("the subscription ended")?;
        let message = match reassembler.push(chunk.payload) {
            Ok(message) => message,
            Err(error) => {
                eprintln!("ignored: {error}");
                continue;
            }
        };
        if let Some(message) = message {
            let value = serde_tensor::from_bytes(message)?;
            if let Some(inbox) = chunk.reply {
                client.publish(inbox, "received".into()).await?;
                client.flush().await?;
            }
            return Ok(value);
        }
    }
}

/// Of what has kept one waiting, the rest was lost: it will be sent again, as another message.
fn give_up(reassembler: &mut Reassembler) {
    let lost: Vec<_> = reassembler.incomplete().collect();
    for (message, arrived, len) in lost {
        eprintln!("{arrived} of {len} bytes of message {message:016x} arrived, the rest was lost");
        reassembler.abandon(message);
    }
}
