//! `examples/serving`: an inference service over tarpc, and one over HTTP.

use crate::common::process::{Process, example};

/// Starts a service and asks it; gives what the client prints.
fn ask(name: &str, scheme: &str) -> Vec<String> {
    let mut server = Process::start(example(name).args(["serve", "127.0.0.1:0"]));
    let line = server.line();
    let address = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}"));
    Process::start(example(name).args(["ask", &format!("{scheme}{address}")])).finish()
}

#[test]
fn a_service_over_tarpc_names_digits_and_sends_a_large_reply() {
    let said = ask("tarpc", "");
    assert_eq!(said[0], "1626 of 1797 digits are named rightly");
    assert!(said[1].starts_with("a reply of 200 MB took "), "{said:?}");
    assert_eq!(said.len(), 2);
}

#[test]
fn a_service_over_http_names_digits() {
    assert_eq!(ask("axum", "http://"), ["1626 of 1797 digits are named rightly"]);
}
