//! What holds for every value, on values nobody thought of.
//!
//! Without these the tests would only know the combinations that somebody wrote down: a checksummed, compact frame of nested
//! options with an empty tensor of a four-bit type is none of them.

mod hostile;
mod round_trips;
mod scan;
mod values;
