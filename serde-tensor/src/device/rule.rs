//! The rules by which a tensor's device is chosen.

use std::fmt;

/// The rule that chose a tensor's device; see the [module](super) for the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Rule {
    /// Rule 0: the type exists only in the host's memory.
    HostOnly = 0,
    /// Rule 1: routing is off.
    RoutingOff = 1,
    /// Rule 2: the call's placement.
    Placement = 2,
    /// Rule 3: the receiving field's attribute.
    Field = 3,
    /// Rule 4: the sender's pin.
    Pin = 4,
    /// Rule 5: the innermost guard.
    Guard = 5,
    /// Rule 6: the process default.
    Default = 6,
    /// Rule 7: the device recorded in the message.
    Source = 7,
}

impl Rule {
    /// The rule's number in the list of the [module](super).
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::HostOnly => "the host-only type",
            Self::RoutingOff => "routing being off",
            Self::Placement => "the call's placement",
            Self::Field => "the field's attribute",
            Self::Pin => "the sender's pin",
            Self::Guard => "the innermost guard",
            Self::Default => "the process default",
            Self::Source => "the recorded source",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_carry_their_number() {
        let rules = [
            Rule::HostOnly,
            Rule::RoutingOff,
            Rule::Placement,
            Rule::Field,
            Rule::Pin,
            Rule::Guard,
            Rule::Default,
            Rule::Source,
        ];
        assert!(rules.iter().map(|rule| usize::from(rule.number())).eq(0..8));
    }
}
