//! The nine level constants of a container, as a table.
//!
//! One constant would be a cycle for a recursive type (`Node` asks `Vec<Node>`, which asks `Node`), so there are nine:
//! a container stays on its level, a derived type asks its fields for the level below, and the last level says
//! "unknown". Presence is therefore exact to a depth of eight nested derived types.

/// Writes the constants `I8 … I0` of a container from those of what is inside: `levels!(T => .optional())` folds one
/// type, `levels!(all [A, B])` and `levels!(either [T, E])` fold several.
macro_rules! levels {
    ($inner:ty => $($fold:tt)*) => {
        const I8: Facts = <$inner as TensorSerialize>::I8 $($fold)*;
        const I7: Facts = <$inner as TensorSerialize>::I7 $($fold)*;
        const I6: Facts = <$inner as TensorSerialize>::I6 $($fold)*;
        const I5: Facts = <$inner as TensorSerialize>::I5 $($fold)*;
        const I4: Facts = <$inner as TensorSerialize>::I4 $($fold)*;
        const I3: Facts = <$inner as TensorSerialize>::I3 $($fold)*;
        const I2: Facts = <$inner as TensorSerialize>::I2 $($fold)*;
        const I1: Facts = <$inner as TensorSerialize>::I1 $($fold)*;
        const I0: Facts = <$inner as TensorSerialize>::I0 $($fold)*;
        const PRESENCE: Presence = Self::I8.marked.presence;
    };
    ($fold:ident [$($inner:ty),+]) => {
        const I8: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I8),+]);
        const I7: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I7),+]);
        const I6: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I6),+]);
        const I5: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I5),+]);
        const I4: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I4),+]);
        const I3: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I3),+]);
        const I2: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I2),+]);
        const I1: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I1),+]);
        const I0: Facts = Facts::$fold([$(<$inner as TensorSerialize>::I0),+]);
        const PRESENCE: Presence = Self::I8.marked.presence;
    };
}

pub(crate) use levels;
