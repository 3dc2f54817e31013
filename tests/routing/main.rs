//! Where tensors land, through the whole path of decoding. The devices are simulated, so that this runs without a GPU;
//! what is set for a whole process is in `routing_process`, a process of its own.

#[path = "../common/mod.rs"]
mod common;

mod attributes;
mod guards;
mod map;
mod nested;
mod other_formats;
mod promises;
mod report;
mod rules;
mod warnings;
