//! Encoding into a writer.

use std::io::Write;

use serde::Serialize;

use crate::encoder::Encoder;
use crate::error::Result;

impl Encoder {
    /// Encodes a value and writes the message.
    ///
    /// The message is built in memory first, since its header states lengths; [`plan`](Self::plan) and
    /// [`Plan::write_to`](crate::Plan::write_to) do without.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec), and `Io`.
    pub fn to_writer<W: Write, T: ?Sized + Serialize>(&self, mut writer: W, value: &T) -> Result<()> {
        writer.write_all(&self.to_vec(value)?)?;
        writer.flush()?;
        Ok(())
    }
}
