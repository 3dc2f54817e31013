//! The README's block on libtorch, which its own test of code blocks cannot compile without one.

use serde_tensor::tch::StateDict;
use serde_tensor::{TensorDeserialize, TensorSerialize};
use tch::nn::VarStore;

// README
#[derive(TensorSerialize, TensorDeserialize)]
struct Rollout {
    #[tensor]
    observation: tch::Tensor, // goes to the receiver's device
    #[tensor(device = "keep_cpu")]
    rewards: Vec<tch::Tensor>, // stays on the CPU
    #[tensor]
    policy: StateDict, // a model's variables, by name
}

// A trainer sends its weights, an actor takes them: names, shapes and kinds are checked before the first copy.
fn share(trainer: &VarStore, actor: &mut VarStore) -> serde_tensor::Result<()> {
    let message = serde_tensor::to_vec(&StateDict::from(trainer))?;
    serde_tensor::from_slice::<StateDict>(&message)?.load_into(actor)
}
// end

#[test]
fn the_readmes_block_is_this_one() {
    let readme = include_str!("../../README.md");
    let here = include_str!("readme.rs");
    let block = here
        .split("// README\n")
        .nth(1)
        .unwrap()
        .split("// end\n")
        .next()
        .unwrap();
    assert!(readme.contains(&format!("```rust,ignore\n{block}```")), "{block}");
}

#[test]
fn the_readmes_block_works() {
    let (mut actor, trainer) = (VarStore::new(tch::Device::Cpu), VarStore::new(tch::Device::Cpu));
    let weight = trainer.root().randn_standard("weight", &[3, 4]);
    let received = actor.root().zeros("weight", &[3, 4]);
    share(&trainer, &mut actor).unwrap();
    assert_eq!(received, weight);

    let rollout = Rollout {
        observation: tch::Tensor::from_slice(&[1.5f32, 2.5]),
        rewards: vec![tch::Tensor::from(1i64)],
        policy: StateDict::from(&trainer),
    };
    let message = serde_tensor::to_vec(&rollout).unwrap();
    let read: Rollout = serde_tensor::from_slice(&message).unwrap();
    assert_eq!((read.observation, read.rewards), (rollout.observation, rollout.rewards));
    read.policy.load_into(&mut actor).unwrap();
}
