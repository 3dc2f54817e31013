//! What keeps a tensor where it is.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;

use super::Storage;

/// Keeps a tensor's storage from being freed, and so its place from being used for another tensor.
///
/// A counted reference to the storage does, by itself: the methods need not be written.
///
/// ```
/// use std::sync::Arc;
/// use serde_tensor::backend::KeepAlive;
///
/// struct Pool(Box<[u8]>);
///
/// fn keep(pool: &Arc<Pool>) -> Box<dyn KeepAlive> {
///     Box::new(Arc::clone(pool))
/// }
/// # keep(&Arc::new(Pool(Box::new([7]))));
/// ```
pub trait KeepAlive {
    /// Whether the tensor is still where its description said.
    ///
    /// Asked when another tensor was found at this place, and before the two are tied. A handle that follows its tensor to other memory keeps
    /// the former memory no longer, and says so here.
    fn is_at(&self, storage: Storage) -> bool {
        let _ = storage;
        true
    }
}

impl KeepAlive for Bytes {}
impl<T: ?Sized> KeepAlive for Arc<T> {}
impl<T: ?Sized> KeepAlive for Rc<T> {}
