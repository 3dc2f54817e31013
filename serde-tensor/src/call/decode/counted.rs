//! Which tensors of a message were counted already.

use std::collections::HashSet;

/// Addresses, each once. Most come in order, which costs less than a set of them.
#[derive(Default)]
pub(super) struct Counted {
    ascending: Vec<usize>,
    others: HashSet<usize>,
}

impl Counted {
    /// Adds an address; `false` if it is in here.
    pub(super) fn insert(&mut self, at: usize) -> bool {
        match self.ascending.last() {
            Some(&last) if at <= last => self.ascending.binary_search(&at).is_err() && self.others.insert(at),
            _ => {
                self.ascending.push(at);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counted;

    #[test]
    fn each_address_is_new_once_in_whatever_order() {
        let mut counted = Counted::default();
        let addresses = [5, 9, 7, 2, 12, 10];
        for at in addresses {
            assert!(counted.insert(at), "{at}");
        }
        for at in addresses {
            assert!(!counted.insert(at), "{at}");
        }
    }
}
