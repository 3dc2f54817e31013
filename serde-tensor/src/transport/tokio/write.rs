//! Writing a message: an owned plan, vectored.

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::TensorSerialize;
use crate::encoder::Encoder;
use crate::error::Result;
use crate::plan::{OwnedPlan, Plan};

/// Writes a value as a message, with the default options: see [`Encoder::write_message`].
///
/// ```
/// use serde_tensor::Tensor;
/// use serde_tensor::tokio::{read_message, write_message};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> serde_tensor::Result<()> {
/// let (mut here, mut there) = tokio::io::duplex(64);
/// let weights = Tensor::from_vec(vec![0.5f32; 1000], &[10, 100])?;
/// let sent = write_message(&mut here, &weights);
/// let (sent, received) = tokio::join!(sent, read_message::<_, Tensor>(&mut there));
/// sent?;
/// assert_eq!(received?, Some(weights));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`Encoder::write_message`].
pub fn write_message<'w, W, T>(writer: &'w mut W, value: &T) -> impl Future<Output = Result<()>> + use<'w, W, T>
where
    W: AsyncWrite + Unpin,
    T: ?Sized + TensorSerialize,
{
    Encoder::new().write_message(writer, value)
}

impl Encoder {
    /// Plans a value, and writes it to an async writer: always as a frame, its tensors from where they are.
    ///
    /// The plan is made and owns what it needs before this returns, so the value is free again, and the future is `Send` even where the
    /// value is not `Sync`. Tensors of host memory are shared; those of libtorch, of other backends and borrowed ones are copied for the time
    /// that it takes to write.
    ///
    /// **Cancel safety**: none. When the future is dropped, a part of the message may have been written; close the connection.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan): then nothing was written. As [`Plan::into_owned`], and `Io` when the writer fails or takes nothing.
    pub fn write_message<'w, W, T>(
        &self,
        writer: &'w mut W,
        value: &T,
    ) -> impl Future<Output = Result<()>> + use<'w, W, T>
    where
        W: AsyncWrite + Unpin,
        T: ?Sized + TensorSerialize,
    {
        let plan = self.clone().framed(true).plan(value).and_then(Plan::into_owned);
        write(writer, plan)
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, plan: Result<OwnedPlan>) -> Result<()> {
    writer.write_all_buf(&mut plan?).await?;
    writer.flush().await?;
    Ok(())
}
