//! What is known of a type before any value of it is seen.

/// Whether the values of a type hold tensors.
///
/// The derive folds it from the fields, so that [`contains_tensor`](crate::contains_tensor) of a type that always or
/// never holds one looks at no value at all.
///
/// ```
/// use serde_tensor::{Presence, Tensor, TensorSerialize};
///
/// assert_eq!(<Tensor as TensorSerialize>::PRESENCE, Presence::Always);
/// assert_eq!(<(Tensor, u8)>::PRESENCE, Presence::Always);
/// assert_eq!(<Option<Tensor>>::PRESENCE, Presence::Maybe);
/// assert_eq!(String::PRESENCE, Presence::Never);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// No value holds one.
    Never,
    /// Some values may hold one: look at the value.
    Maybe,
    /// Every value holds at least one.
    Always,
}

/// A statement about a type in one position: its presence, and whether a tensor type is known to be inside it.
///
/// `known` is what turns an unmarked field into a compile error; a type one cannot see into is `Maybe` and not known.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Whether its values hold tensors.
    pub presence: Presence,
    /// Whether a tensor type is known to be inside.
    pub known: bool,
}

impl Claim {
    /// No tensor, for certain.
    pub const NEVER: Self = Self::of(Presence::Never);
    /// Nothing can be said.
    pub const UNKNOWN: Self = Self {
        presence: Presence::Maybe,
        known: false,
    };

    /// The claim of a type that states its own presence.
    #[must_use]
    pub const fn of(presence: Presence) -> Self {
        Self {
            presence,
            known: !matches!(presence, Presence::Never),
        }
    }

    /// The claim of something that may be left out: `Option<T>`, `Vec<T>`, a field with `skip_serializing_if`.
    #[must_use]
    pub const fn optional(self) -> Self {
        match self.presence {
            Presence::Always => Self {
                presence: Presence::Maybe,
                known: self.known,
            },
            Presence::Maybe | Presence::Never => self,
        }
    }

    /// The claim of parts side by side: a struct, a tuple.
    #[must_use]
    pub const fn all(parts: &[Self]) -> Self {
        let mut sum = Self::NEVER;
        let mut i = 0;
        while i < parts.len() {
            sum.known |= parts[i].known;
            sum.presence = match (sum.presence, parts[i].presence) {
                (Presence::Always, _) | (_, Presence::Always) => Presence::Always,
                (Presence::Maybe, _) | (_, Presence::Maybe) => Presence::Maybe,
                (Presence::Never, Presence::Never) => Presence::Never,
            };
            i += 1;
        }
        sum
    }

    /// The claim of one part out of several: an enum, a `Result`.
    #[must_use]
    pub const fn either(parts: &[Self]) -> Self {
        let Some((first, rest)) = parts.split_first() else {
            return Self::NEVER;
        };
        let mut sum = *first;
        let mut i = 0;
        while i < rest.len() {
            sum.known |= rest[i].known;
            sum.presence = match (sum.presence, rest[i].presence) {
                (Presence::Always, Presence::Always) => Presence::Always,
                (Presence::Never, Presence::Never) => Presence::Never,
                _ => Presence::Maybe,
            };
            i += 1;
        }
        sum
    }
}

/// What a type claims when its field is marked with `#[tensor]`, and when it is not.
///
/// The two differ where numbers are concerned: a marked `Vec<f32>` is a tensor, an unmarked one is a list.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The claim of a marked field.
    pub marked: Claim,
    /// The claim of an unmarked field, which travels through serde alone.
    pub unmarked: Claim,
}

impl Facts {
    /// A type without tensors.
    pub const NEVER: Self = Self::both(Claim::NEVER);
    /// A type one cannot see into, or the end of the levels.
    pub const UNKNOWN: Self = Self::both(Claim::UNKNOWN);
    /// Numbers in a row: a tensor where they are marked, a list where they are not.
    pub const BULK: Self = Self {
        marked: Claim::of(Presence::Always),
        unmarked: Claim::NEVER,
    };

    /// The facts of a type that behaves alike in both positions.
    #[must_use]
    pub const fn both(claim: Claim) -> Self {
        Self {
            marked: claim,
            unmarked: claim,
        }
    }

    /// The facts of `Option<T>` from those of `T`.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self {
            marked: self.marked.optional(),
            unmarked: self.unmarked.optional(),
        }
    }

    /// The facts of `[T]` and `Vec<T>` from those of `T`.
    #[must_use]
    pub const fn row(self, bulk: bool) -> Self {
        if bulk { Self::BULK } else { self.optional() }
    }

    /// The facts of `[T; N]` from those of `T`.
    #[must_use]
    pub const fn array(self, bulk: bool, len: usize) -> Self {
        match (bulk, len) {
            (true, _) => Self::BULK,
            (false, 0) => Self::NEVER,
            (false, _) => self,
        }
    }

    /// The facts of parts side by side.
    #[must_use]
    pub const fn all<const N: usize>(parts: [Self; N]) -> Self {
        let (marked, unmarked) = split(&parts);
        Self {
            marked: Claim::all(&marked),
            unmarked: Claim::all(&unmarked),
        }
    }

    /// The facts of one part out of several.
    #[must_use]
    pub const fn either<const N: usize>(parts: [Self; N]) -> Self {
        let (marked, unmarked) = split(&parts);
        Self {
            marked: Claim::either(&marked),
            unmarked: Claim::either(&unmarked),
        }
    }

    /// The facts of a wrapper that serde itself serializes, so that the mark does not reach what is inside.
    #[must_use]
    pub const fn by_serde(self) -> Self {
        Self::both(self.unmarked)
    }

    /// The claim of a field that a function of the user's writes: it may turn numbers into tensors or drop tensors.
    #[must_use]
    pub const fn by_function(self) -> Claim {
        match (self.marked.presence, self.unmarked.presence) {
            (Presence::Never, Presence::Never) => Claim::NEVER,
            _ => Claim::UNKNOWN,
        }
    }
}

const fn split<const N: usize>(parts: &[Facts; N]) -> ([Claim; N], [Claim; N]) {
    let mut marked = [Claim::NEVER; N];
    let mut unmarked = [Claim::NEVER; N];
    let mut i = 0;
    while i < N {
        marked[i] = parts[i].marked;
        unmarked[i] = parts[i].unmarked;
        i += 1;
    }
    (marked, unmarked)
}
