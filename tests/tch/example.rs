//! The example, run as its reader runs it: from the folder where `cargo xtask test` builds it.

use std::process::Command;

#[test]
fn minilm_computes_the_same_in_another_process() {
    let test = std::env::current_exe().unwrap();
    let name = format!("examples/minilm{}", std::env::consts::EXE_SUFFIX);
    let program = test.ancestors().nth(2).unwrap().join(name);
    assert!(
        program.exists(),
        "{} is not built: `cargo xtask example minilm` builds it",
        program.display()
    );
    let output = Command::new(program).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        said.starts_with("MiniLM, layer 0: 18 tensors of weights, a message of 71"),
        "{said}"
    );
    assert!(
        said.ends_with("computed [2, 7, 384], the same to the last bit.\n"),
        "{said}"
    );
}
