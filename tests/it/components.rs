//! A component of WASI, served by jco: each instance has one request at a time.

use testkit::component;
use testkit::stack::NodeScript;

use crate::support::{Stack, over};

over! {
    [spawn] {
        of_200_customers_of_several_instances_100_get_a_coupon_each,
    }
}

async fn of_200_customers_of_several_instances_100_get_a_coupon_each(stack: Stack) {
    let built = component::build().expect("a component");
    let variables = [
        ("COMPONENT", built.to_str().expect("a path in UTF-8")),
        ("EDGELOCK_BRIDGE_URL", stack.bridge.url()),
        ("EDGELOCK_BRIDGE_CREDENTIAL", stack.bridge.token()),
    ];
    let start = || NodeScript::start(&component::host(), variables).expect("jco");
    let instances = [start(), start(), start(), start()];
    let addresses = instances.each_ref().map(NodeScript::url);
    component::sell_out(&addresses).await.expect("a sale");
}

/// Such hosts have no JavaScript.
#[test]
fn a_component_carries_nothing_of_javascript() {
    let tree = testkit::paths::cargo()
        .args(["tree", "-p", "edgelock", "--features", "wasi", "-e", "normal"])
        .args(["--prefix", "none", "--target", component::TARGET])
        .output()
        .expect("cargo tree");
    let crates = String::from_utf8(tree.stdout).expect("UTF-8");
    assert!(crates.contains("wstd"), "{crates}");
    for other in ["wasm-bindgen", "js-sys"] {
        assert!(!crates.lines().any(|line| line.starts_with(other)), "{crates}");
    }
}
