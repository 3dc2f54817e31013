//! What several test files share.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod capture;
pub(crate) mod process;
pub(crate) mod sent;
pub(crate) mod sim;
