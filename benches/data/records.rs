//! *records*: 10,000 lines of a web server's log, strings and integers, no tensor.

use serde::{Deserialize, Serialize};

use super::Data;
use super::random::Random;

pub(crate) enum Records {}

#[derive(
    Serialize,
    Deserialize,
    PartialEq,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Log {
    records: Vec<Record>,
}

#[derive(
    Serialize,
    Deserialize,
    PartialEq,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
struct Record {
    address: Address,
    identity: String,
    user: String,
    date: String,
    request: String,
    status: u16,
    size: u64,
}

#[derive(
    Serialize,
    Deserialize,
    PartialEq,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
struct Address {
    a: u8,
    b: u8,
    c: u8,
    d: u8,
}

#[derive(Serialize, Deserialize, bitcode::Encode, bitcode::Decode)]
pub(crate) struct LogView<'a> {
    #[serde(borrow)]
    records: Vec<RecordView<'a>>,
}

#[derive(Serialize, Deserialize, bitcode::Encode, bitcode::Decode)]
struct RecordView<'a> {
    address: Address,
    identity: &'a str,
    user: &'a str,
    date: &'a str,
    request: &'a str,
    status: u16,
    size: u64,
}

fn record(random: &mut Random) -> Record {
    let mut octet = || u8::try_from(random.below(256)).unwrap_or(0);
    let address = Address {
        a: octet(),
        b: octet(),
        c: octet(),
        d: octet(),
    };
    let user = random.pick(&["-", "ada", "grace", "konrad", "margaret", "edsger", "barbara.liskov"]);
    let (day, hour) = (1 + random.below(28), random.below(24));
    let (minute, second) = (random.below(60), random.below(60));
    let method = random.pick(&["GET", "GET", "GET", "POST", "PUT", "DELETE", "HEAD"]);
    let folder = random.pick(&[
        "models",
        "datasets",
        "runs",
        "metrics",
        "static/scripts",
        "api/v2/artifacts",
    ]);
    let file = random.pick(&[
        "index.html",
        "weights.bin",
        "latest",
        "config.json",
        "events",
        "logo.svg",
    ]);
    let item = random.below(100_000);
    let bits = 4 + random.below(24);
    let status = [200u16, 200, 200, 201, 204, 301, 304, 400, 404, 500][random.below(10) as usize];
    Record {
        address,
        identity: "-".to_owned(),
        user: user.to_owned(),
        date: format!("{day:02}/Oct/2025:{hour:02}:{minute:02}:{second:02} +0000"),
        request: format!("{method} /{folder}/{item}/{file} HTTP/1.1"),
        status,
        size: u64::from(random.below(1 << bits)),
    }
}

impl Data for Records {
    const NAME: &'static str = "records";
    const BORROWS: bool = true;

    type Ours = Log;
    type View<'a> = LogView<'a>;
    type Peer = Log;
    type PeerView<'a> = LogView<'a>;

    fn ours() -> Log {
        let mut random = Random::new(5);
        Log {
            records: (0..10_000).map(|_| record(&mut random)).collect(),
        }
    }

    fn peer() -> Log {
        Self::ours()
    }
}
