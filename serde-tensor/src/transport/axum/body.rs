//! A request's body, read into the buffer that it is decoded from.

use std::error::Error as StdError;
use std::io;

use axum_core::RequestExt as _;
use axum_core::extract::Request;
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError};

use super::super::incoming::{Incoming, Start};
use super::super::reader::check_limit;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::frame::MAGIC;
use crate::wire::to_u64;

/// Reads a body to its end.
pub(super) async fn read(request: Request, limits: &Limits) -> Result<Bytes> {
    // A length that the client states is looked at before anything is read.
    let stated = request.body().size_hint().lower();
    check_limit(stated, "", limits)?;
    let mut body = request.into_limited_body();
    let mut message = Message::Start(Start::new());
    while let Some(part) = body.frame().await {
        let part = part.map_err(|error| unreadable(error, stated))?;
        // What is no data are trailers, which say nothing here.
        if let Ok(data) = part.into_data() {
            message.put(&data, limits)?;
        }
    }
    message.finish()
}

/// What has arrived.
enum Message {
    Start(Start),
    Frame(Incoming),
    Plain(Vec<u8>),
}

impl Message {
    fn put(&mut self, mut data: &[u8], limits: &Limits) -> Result<()> {
        while !data.is_empty() {
            match self {
                Self::Start(start) if start.is_empty() && data[0] != MAGIC[0] => *self = Self::Plain(Vec::new()),
                Self::Start(start) => {
                    let room = start.room();
                    let (part, rest) = data.split_at(room.len().min(data.len()));
                    room[..part.len()].copy_from_slice(part);
                    data = rest;
                    if let Some(header) = start.advance(part.len())? {
                        *self = Self::Frame(Incoming::open(&header, start, limits)?);
                    }
                }
                Self::Frame(frame) => {
                    let (part, rest) = data.split_at(frame.missing().min(data.len()));
                    if part.is_empty() {
                        return Err(Error::syntax("bytes are left over after the frame").at(to_u64(frame.arrived())));
                    }
                    frame.put(part)?;
                    data = rest;
                }
                Self::Plain(bytes) => {
                    check_limit(to_u64(bytes.len()) + to_u64(data.len()), " or more", limits)?;
                    bytes
                        .try_reserve(data.len())
                        .map_err(|_| Error::limit(format!("no memory for a message above {} bytes", bytes.len())))?;
                    bytes.extend_from_slice(data);
                    data = &[];
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Bytes> {
        match self {
            Self::Start(start) if start.is_empty() => Err(Error::eof("the message is empty").at(0)),
            Self::Start(start) => Err(start.ended()),
            Self::Frame(mut frame) => frame.take(),
            Self::Plain(bytes) => Ok(Bytes::from(bytes)),
        }
    }
}

/// A limit of axum or of a layer was reached, or the connection failed.
fn unreadable(error: axum_core::Error, stated: u64) -> Error {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(found) = cause.filter(|cause| !cause.is::<LengthLimitError>()) {
        cause = found.source();
    }
    if cause.is_none() {
        return Error::from(io::Error::other(error));
    }
    let length = match stated {
        0 => String::new(),
        stated => format!(" of {stated} bytes"),
    };
    Error::limit(format!("a body{length} is longer than this route takes")).with_source(error)
}
