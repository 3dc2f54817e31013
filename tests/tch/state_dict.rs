//! A model's variables as a value.

use serde_tensor::tch::StateDict;
use serde_tensor::{Category, Plan, TensorDeserialize, TensorSerialize, contains_tensor};
use tch::nn::{self, Module, VarStore};
use tch::{Device, Kind, Tensor};

use super::{FLOAT, bytes, iota};

/// A layer and a buffer.
fn model(inputs: i64, outputs: i64) -> (VarStore, nn::Linear) {
    let store = VarStore::new(Device::Cpu);
    let layer = nn::linear(store.root() / "layer", inputs, outputs, nn::LinearConfig::default());
    let _mean = store.root().zeros_no_train("running_mean", &[outputs]);
    (store, layer)
}

fn through<T: TensorSerialize>(value: &T) -> StateDict {
    let mut message = Vec::new();
    Plan::new(value).unwrap().write_to(&mut message).unwrap();
    serde_tensor::from_slice(&message).unwrap()
}

#[test]
fn an_actor_gets_the_trainers_weights_buffers_included() {
    let ((trainer, teacher), (mut actor, pupil)) = (model(40, 30), model(40, 30));
    let _ = trainer.variables()["running_mean"].shallow_clone().fill_(0.25);
    let input = Tensor::randn([5, 40], FLOAT);
    assert_ne!(bytes(&teacher.forward(&input)), bytes(&pupil.forward(&input)));
    let state = through(&StateDict::from(&trainer));
    assert_eq!(
        state.iter().map(|(name, _)| &**name).collect::<Vec<_>>(),
        ["layer.bias", "layer.weight", "running_mean"]
    );
    state.load_into(&mut actor).unwrap();
    assert_eq!(bytes(&teacher.forward(&input)), bytes(&pupil.forward(&input)));
    assert_eq!(actor.variables()["running_mean"].max(), Tensor::from(0.25f32));
    // It still trains, and what was sent does not follow.
    assert!(actor.variables()["layer.weight"].requires_grad() && pupil.ws.requires_grad());
    assert!(!actor.variables()["running_mean"].requires_grad());
    let before = bytes(state.get("layer.weight").unwrap());
    tch::no_grad(|| drop(actor.variables()["layer.weight"].shallow_clone().zero_()));
    assert_eq!(bytes(state.get("layer.weight").unwrap()), before);
}

#[test]
fn all_that_does_not_fit_is_told_at_once_and_nothing_is_copied() {
    let (mut store, _) = model(4, 3);
    let before: Vec<_> = ["layer.bias", "layer.weight", "running_mean"]
        .map(|name| bytes(&store.variables()[name]))
        .into();
    let state: StateDict = [
        // Would be broadcast.
        ("layer.bias", Tensor::ones([1], FLOAT)),
        // Would be cast.
        ("layer.weight", Tensor::ones([3, 4], (Kind::Double, Device::Cpu))),
        ("surplus", iota(&[1])),
        ("superfluous", iota(&[1])),
    ]
    .into_iter()
    .collect();
    let error = state.load_into(&mut store).unwrap_err();
    assert_eq!(error.category(), Category::Data);
    let text = error.to_string();
    for part in [
        "1 missing: `running_mean`",
        "2 unexpected: `superfluous`, `surplus`",
        "2 of another kind or shape: `layer.bias` (Float [1] for Float [3]), `layer.weight` (Double [3, 4] for Float [3, 4])",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let after: Vec<_> = ["layer.bias", "layer.weight", "running_mean"]
        .map(|name| bytes(&store.variables()[name]))
        .into();
    assert_eq!(after, before);
}

#[test]
fn a_tensor_that_is_not_plain_memory_is_named() {
    let (mut store, _) = model(4, 3);
    let mut state = StateDict::from(&store);
    assert!(state.insert("layer.bias", Tensor::new()).is_some());
    let error = state.load_into(&mut store).unwrap_err();
    assert!(
        error.to_string().contains("layer.bias") && error.to_string().contains("undefined"),
        "{error}"
    );
    assert_eq!(
        serde_tensor::to_vec(&state).unwrap_err().path(),
        Some("[\"layer.bias\"]")
    );
}

#[test]
fn gradients_are_recorded_after_loading_as_before() {
    let (mut store, _) = model(4, 3);
    StateDict::from(&store).load_into(&mut store).unwrap();
    assert!((iota(&[2]).set_requires_grad(true) * 2.0).requires_grad());
}

#[test]
fn it_stands_in_a_field_and_under_other_formats() {
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Checkpoint {
        step: u64,
        #[tensor(device = "keep_cpu")]
        model: StateDict,
    }
    let (store, _) = model(4, 3);
    let value = Checkpoint {
        step: 7,
        model: StateDict::from(&store),
    };
    assert!(contains_tensor(&value) && !contains_tensor(&StateDict::new()));
    let read: Checkpoint = serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap();
    assert_eq!((read.step, read.model.len()), (7, 3));
    assert_eq!(
        bytes(read.model.get("layer.weight").unwrap()),
        bytes(value.model.get("layer.weight").unwrap())
    );
}

#[test]
fn tied_variables_arrive_tied() {
    let weight = iota(&[300]).set_requires_grad(true);
    let state: StateDict = [("decoder", weight.shallow_clone()), ("encoder", weight)]
        .into_iter()
        .collect();
    let read = through(&state);
    assert_eq!(
        read.get("decoder").unwrap().data_ptr(),
        read.get("encoder").unwrap().data_ptr()
    );
}

/// The tensors are the variables themselves, under each other's names.
#[test]
fn variables_are_exchanged_and_transposed() {
    let mut store = VarStore::new(Device::Cpu);
    let root = store.root();
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|name| root.zeros(name, &[3, 3]));
    tch::no_grad(|| {
        for (at, variable) in [&mut a, &mut b, &mut c].into_iter().enumerate() {
            variable.copy_(&(iota(&[3, 3]) + 10 * i64::try_from(at).unwrap()));
        }
    });
    let expected = [&b, &a, &c.transpose(0, 1)].map(bytes);
    let state: StateDict = [
        ("a", b.shallow_clone()),
        ("b", a.shallow_clone()),
        ("c", c.transpose(0, 1)),
    ]
    .into_iter()
    .collect();
    state.load_into(&mut store).unwrap();
    assert_eq!([&a, &b, &c].map(bytes), expected);
    // Onto itself.
    StateDict::from(&store).load_into(&mut store).unwrap();
    assert_eq!([&a, &b, &c].map(bytes), expected);
}
