//! What the derive says of each mistake. The `.stderr` files hold the messages; `TRYBUILD=overwrite cargo test -p
//! serde-tensor-ui` writes them anew, to be read before they are committed.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
