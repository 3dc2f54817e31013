//! Messages on transports and engines of other projects, as the examples show them.
//!
//! Everything runs on the local machine, on free ports; what a test starts ends with it, whether it passes or fails.

#[path = "../common/mod.rs"]
mod common;

mod distributed;
mod http;
mod http_trouble;
mod ipc_channel;
mod kameo;
mod nats;
mod serving;
mod shared_memory;
mod tarpc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
