//! A component of WASI, served by jco: each instance has one request at a time.

use std::collections::BTreeSet;

use tokio::task::JoinSet;
use xtask::component;
use xtask::stack::NodeScript;

use crate::support::{Stack, run};

const INSTANCES: usize = 4;
const COUPONS: usize = 100;

#[test]
fn of_200_customers_of_several_instances_100_get_a_coupon_each() {
    run(async {
        let stack = Stack::spawn();
        let built = component::build().expect("a component");
        let variables = [
            ("COMPONENT", built.to_str().expect("a path in UTF-8")),
            ("EDGELOCK_BRIDGE_URL", stack.bridge.url()),
            ("EDGELOCK_BRIDGE_CREDENTIAL", stack.bridge.token()),
        ];
        let instances = [(); INSTANCES]
            .map(|()| NodeScript::start(&component::host(), variables).expect("jco"));
        let http = reqwest::Client::new();
        let mut customers = JoinSet::new();
        for n in 0..2 * COUPONS {
            let url = format!("{}/customer-{n}", instances[n % INSTANCES].url());
            let get = http.get(url).send();
            customers.spawn(async { get.await.expect("an answer").text().await });
        }
        let mut coupons = BTreeSet::new();
        let mut refused = 0;
        for text in customers.join_all().await {
            match text.expect("a text").as_str() {
                "none left\n" => refused += 1,
                coupon => assert!(coupons.insert(coupon.to_owned()), "{coupon} twice"),
            }
        }
        let all = (1..=COUPONS).map(|number| format!("coupon {number}\n"));
        assert_eq!((coupons, refused), (all.collect(), COUPONS));
    });
}

/// Such hosts have no JavaScript.
#[test]
fn a_component_carries_nothing_of_javascript() {
    let tree = xtask::paths::cargo()
        .args([
            "tree",
            "-p",
            "edgelock",
            "--features",
            "wasi",
            "-e",
            "normal",
        ])
        .args(["--prefix", "none", "--target", component::TARGET])
        .output()
        .expect("cargo tree");
    let crates = String::from_utf8(tree.stdout).expect("UTF-8");
    assert!(crates.contains("wstd"), "{crates}");
    for other in ["wasm-bindgen", "js-sys"] {
        assert!(
            !crates.lines().any(|line| line.starts_with(other)),
            "{crates}"
        );
    }
}
