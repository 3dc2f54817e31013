//! The variables of a model, by name.

use std::collections::{BTreeMap, HashMap, HashSet, btree_map};
use std::fmt::Write as _;

use ::tch::{Kind, TchError, Tensor, nn::VarStore};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::plain::Plain;
use super::{fault, shim};
use crate::leaf;
use crate::{Error, Presence, Result, TensorDeserialize, TensorSerialize, TensorVisitor};

/// The tensors of a model by their names: from a [`VarStore`] and back into one.
///
/// It travels as a map of names to tensors, buffers (variables that are not trained) included. So a trainer sends its
/// weights in one line, and an actor takes them in another:
///
/// ```
/// use serde_tensor::tch::StateDict;
/// use tch::nn::{self, VarStore};
///
/// let mut trainer = VarStore::new(tch::Device::Cpu);
/// nn::linear(trainer.root() / "policy", 4, 2, nn::LinearConfig::default());
/// let mut actor = VarStore::new(tch::Device::Cpu);
/// nn::linear(actor.root() / "policy", 4, 2, nn::LinearConfig::default());
///
/// let message = serde_tensor::to_vec(&StateDict::from(&trainer))?;
/// serde_tensor::from_slice::<StateDict>(&message)?.load_into(&mut actor)?;
/// # assert_eq!(trainer.variables()["policy.weight"], actor.variables()["policy.weight"]);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
///
/// The tensors of a store are shared, not copied: a step of the optimiser changes them until they are encoded.
#[derive(Debug, Default)]
pub struct StateDict {
    tensors: BTreeMap<String, Tensor>,
}

impl StateDict {
    /// One without tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tensor of a name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Puts a tensor under a name, and returns the one that was there.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) -> Option<Tensor> {
        self.tensors.insert(name.into(), tensor)
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Names and tensors, by name.
    pub fn iter(&self) -> btree_map::Iter<'_, String, Tensor> {
        self.tensors.iter()
    }

    /// Copies the values into the variables of a store, which stay where they are, on their devices.
    ///
    /// A tensor here that shares memory with a variable of the store, as when two are to be exchanged, is copied before any is overwritten. What
    /// was decoded shares nothing with a store.
    ///
    /// # Errors
    ///
    /// `Data` unless names, shapes and kinds are all the same on both sides. Everything that is not is named, missing and
    /// unexpected names together, and nothing is copied. `Backend` for a tensor that is not plain memory, likewise, or if a copy
    /// fails, and then some variables may have the new values.
    pub fn load_into(&self, store: &mut VarStore) -> Result<()> {
        let mut variables = store.variables();
        self.check(&variables.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect())?;
        // The guard, not the function, which a panic would leave on.
        let _without_gradients = ::tch::no_grad_guard();
        let kept = self.overwritten(&variables)?;
        for (name, tensor) in &self.tensors {
            if let Some(variable) = variables.get_mut(name) {
                let copied = variable.f_copy_(kept.get(name.as_str()).unwrap_or(tensor));
                copied.map_err(|error| uncopied(name, error))?;
            }
        }
        Ok(())
    }

    /// Copies of the tensors whose memory is that of variables, other than the whole of their own.
    fn overwritten(&self, variables: &HashMap<String, Tensor>) -> Result<BTreeMap<&str, Tensor>> {
        let taken: HashSet<usize> = variables.values().filter_map(shim::storage).collect();
        let mut copies = BTreeMap::new();
        for (name, tensor) in &self.tensors {
            if shim::storage(tensor).is_some_and(|storage| taken.contains(&storage))
                && let Some(variable) = variables.get(name)
                && !tensor.f_is_set_to(variable).map_err(|error| uncopied(name, error))?
            {
                let mut copy = tensor.f_empty_like().map_err(|error| uncopied(name, error))?;
                copy.f_copy_(tensor).map_err(|error| uncopied(name, error))?;
                copies.insert(name.as_str(), copy);
            }
        }
        Ok(copies)
    }

    /// `copy_` would broadcast shapes and cast kinds without a word.
    fn check(&self, variables: &BTreeMap<&str, &Tensor>) -> Result<()> {
        let mut faults = Faults::default();
        for name in variables.keys().filter(|name| !self.tensors.contains_key(**name)) {
            faults.missing.push(format!("`{name}`"));
        }
        for (name, tensor) in &self.tensors {
            let Some(variable) = variables.get(name.as_str()) else {
                faults.unexpected.push(format!("`{name}`"));
                continue;
            };
            let (ours, theirs) = (look(name, tensor)?, look(name, variable)?);
            if ours != theirs {
                let [ours, theirs] = [ours, theirs].map(|(kind, shape)| format!("{kind:?} {shape:?}"));
                faults.different.push(format!("`{name}` ({ours} for {theirs})"));
            }
        }
        faults.into_result()
    }
}

#[cold]
fn uncopied(name: &str, error: TchError) -> Error {
    fault(format!("variable `{name}` cannot be copied"), error)
}

/// Kind and shape of a tensor that is plain memory.
fn look(name: &str, tensor: &Tensor) -> Result<(Kind, Vec<i64>)> {
    Plain::of(tensor).map_err(|error| Error::backend(format!("variable `{name}`: {error}")))?;
    let kind = tensor
        .f_kind()
        .map_err(|error| fault(format!("variable `{name}`"), error))?;
    Ok((kind, tensor.size()))
}

/// What does not fit.
#[derive(Default)]
struct Faults {
    missing: Vec<String>,
    unexpected: Vec<String>,
    different: Vec<String>,
}

impl Faults {
    fn into_result(self) -> Result<()> {
        let mut message = String::new();
        for (what, names) in [
            ("missing", self.missing),
            ("unexpected", self.unexpected),
            ("of another kind or shape", self.different),
        ] {
            if !names.is_empty() {
                let joint = if message.is_empty() { "" } else { "; " };
                // Writing to a string cannot fail.
                let _ = write!(message, "{joint}{} {what}: {}", names.len(), names.join(", "));
            }
        }
        if message.is_empty() {
            return Ok(());
        }
        Err(Error::data(format!("the state does not fit the store: {message}")))
    }
}

impl From<&VarStore> for StateDict {
    fn from(store: &VarStore) -> Self {
        store.variables().into_iter().collect()
    }
}

impl<N: Into<String>> FromIterator<(N, Tensor)> for StateDict {
    fn from_iter<I: IntoIterator<Item = (N, Tensor)>>(tensors: I) -> Self {
        Self {
            tensors: tensors
                .into_iter()
                .map(|(name, tensor)| (name.into(), tensor))
                .collect(),
        }
    }
}

impl IntoIterator for StateDict {
    type Item = (String, Tensor);
    type IntoIter = btree_map::IntoIter<String, Tensor>;

    fn into_iter(self) -> Self::IntoIter {
        self.tensors.into_iter()
    }
}

impl<'a> IntoIterator for &'a StateDict {
    type Item = (&'a String, &'a Tensor);
    type IntoIter = btree_map::Iter<'a, String, Tensor>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for StateDict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        leaf::announce(self);
        self.serialize_tensors(serializer)
    }
}

impl<'de> Deserialize<'de> for StateDict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize_tensors(deserializer)
    }
}

impl TensorSerialize for StateDict {
    const PRESENCE: Presence = <BTreeMap<String, Tensor>>::PRESENCE;

    fn contains_tensor(&self) -> bool {
        !self.is_empty()
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.tensors.serialize_tensors(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> Result<()> {
        self.tensors.visit_tensors(visitor)
    }
}

impl<'de> TensorDeserialize<'de> for StateDict {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tensors = BTreeMap::deserialize_tensors(deserializer)?;
        Ok(Self { tensors })
    }
}
