//! How a serializer writes, as far as that is known where the code is compiled.

/// A way to write.
///
/// That it is a type makes headers and field names constants in the code of each value's type. Asked anew for each field, the
/// option would double that code, and little of it would be inlined.
pub trait Mode {
    /// Whether structs are arrays and variants numbers; `None` where the options say.
    const COMPACT: Option<bool>;
    /// Whether an error gets its path here. Else it gets it where the call ends, from the same bytes.
    const LOCATES: bool;
}

/// With names.
pub(super) struct Named;

/// Without names.
pub(super) struct Compact;

/// As the options say, for a [`Serializer`](crate::Serializer) in a user's hands.
pub struct Direct;

impl Mode for Named {
    const COMPACT: Option<bool> = Some(false);
    const LOCATES: bool = false;
}

impl Mode for Compact {
    const COMPACT: Option<bool> = Some(true);
    const LOCATES: bool = false;
}

impl Mode for Direct {
    const COMPACT: Option<bool> = None;
    const LOCATES: bool = true;
}
