//! Tensors that require a gradient train where they arrive (T7).

use serde_tensor::{Plan, TensorDeserialize, TensorSerialize};
use tch::nn::{self, OptimizerConfig, VarStore};
use tch::{Kind, Tensor};

use super::{FLOAT, bytes, iota, one, sent};

#[derive(Debug, TensorSerialize, TensorDeserialize)]
struct Tied {
    #[tensor]
    input: Tensor,
    #[tensor]
    output: Tensor,
    #[tensor]
    view: Tensor,
}

/// T7.
#[test]
fn leaves_require_a_gradient_again_and_others_do_not() {
    let leaf = iota(&[300]).set_requires_grad(true);
    let result = &leaf * 2.0;
    for (tensor, requires) in [(leaf, true), (result, true), (iota(&[300]), false)] {
        for arrived in sent(&tensor) {
            assert_eq!((arrived.requires_grad(), arrived.is_leaf()), (requires, true));
            assert!(!arrived.grad().defined());
        }
    }
    let complex = Tensor::complex(&iota(&[2]), &iota(&[2])).set_requires_grad(true);
    assert!(sent(&complex).iter().all(Tensor::requires_grad));
}

#[test]
fn a_leaf_is_restored_whether_or_not_gradients_are_on() {
    let message = serde_tensor::to_vec(&one(iota(&[300]).set_requires_grad(true))).unwrap();
    let guard = tch::no_grad_guard();
    let arrived: super::One = serde_tensor::from_slice(&message).unwrap();
    drop(guard);
    assert!(arrived.x.requires_grad());
    (&arrived.x * 2.0).sum(Kind::Float).backward();
    assert_eq!(arrived.x.grad().max(), Tensor::from(2.0f32));
}

#[test]
fn an_optimiser_step_changes_what_arrived() {
    let message = serde_tensor::to_vec(&one(Tensor::ones([300], FLOAT).set_requires_grad(true))).unwrap();
    let arrived: super::One = serde_tensor::from_slice(&message).unwrap();
    let store = VarStore::new(tch::Device::Cpu);
    let variable = store.root().add("x", arrived.x, true);
    let mut optimizer = nn::Sgd::default().build(&store, 0.5).unwrap();
    optimizer.backward_step(&variable.square().sum(Kind::Float));
    assert_eq!(
        (variable.max(), variable.min()),
        (Tensor::from(0.0f32), Tensor::from(0.0f32))
    );
}

#[test]
fn tied_leaves_arrive_as_one_whose_gradients_add_up() {
    let weight = Tensor::ones([300], FLOAT).set_requires_grad(true);
    let value = Tied {
        view: weight.detach().narrow(0, 0, 200),
        input: weight.shallow_clone(),
        output: weight,
    };
    let mut message = Vec::new();
    Plan::new(&value).unwrap().write_to(&mut message).unwrap();
    let Tied {
        input,
        mut output,
        view,
    } = serde_tensor::from_slice(&message).unwrap();
    let loss = (&input * 2.0 + &output * 3.0).sum(Kind::Float);
    loss.backward();
    assert_eq!(input.grad().max(), Tensor::from(5.0f32));
    assert_eq!(output.grad().data_ptr(), input.grad().data_ptr(), "they are one tensor");
    tch::no_grad(|| output -= &input.grad() * 0.1);
    assert_eq!(bytes(&input), bytes(&output));
    assert_eq!(view.max(), Tensor::from(0.5f32), "a view of them follows");
    assert!(!view.requires_grad());
}

/// Plain views of one memory share a version counter, and the second backward pass would fail.
#[test]
fn a_step_on_one_tensor_does_not_disturb_the_backward_pass_of_another() {
    let storage = iota(&[600]);
    let value = Tied {
        input: storage.narrow(0, 0, 300).set_requires_grad(true),
        output: storage.narrow(0, 200, 300).set_requires_grad(true),
        view: storage,
    };
    let mut message = Vec::new();
    Plan::new(&value).unwrap().write_to(&mut message).unwrap();
    let Tied { input, mut output, .. } = serde_tensor::from_slice(&message).unwrap();
    assert!(input.requires_grad() && output.requires_grad());
    let loss = input.square().sum(Kind::Float);
    tch::no_grad(|| output += 1.0);
    loss.f_backward().unwrap();
    assert!(input.grad().defined());
}
