//! The component of an example for hosts of WASI: builds it as its user does, and asks it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;

use crate::programs::run;
use crate::worker_build::alone;
use crate::{paths, stale};

/// The target of a component.
pub const TARGET: &str = "wasm32-wasip2";

/// How many coupons the example gives.
const COUPONS: usize = 100;

/// The script that runs or serves a component.
pub fn host() -> PathBuf {
    paths::root().join("xtask/hosts/component.mjs")
}

/// Builds `examples/component`, in a workspace of its own. Returns the component.
pub fn build() -> Result<PathBuf> {
    const FOLDER: &str = "examples/component";
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let target = alone(FOLDER)?;
    let built = target.join(TARGET).join("release/component.wasm");
    let sources = ["Cargo.lock", "src", "examples/component/src", "examples/component/Cargo.toml"];
    if !stale::is_newer(&built, stale::last_change(sources)?) {
        run(paths::cargo()
            .args(["build", "--release", "--target", TARGET])
            .env("CARGO_TARGET_DIR", target)
            .current_dir(paths::root().join(FOLDER)))?;
    }
    Ok(built)
}

/// Has 200 customers ask the example for a coupon at once, each at the next of these addresses.
pub async fn sell_out(addresses: &[String]) -> Result<()> {
    let http = reqwest::Client::new();
    let mut customers = JoinSet::new();
    for (n, address) in (0..2 * COUPONS).zip(addresses.iter().cycle()) {
        let get = http.get(format!("{address}/customer-{n}")).send();
        customers.spawn(async { get.await?.text().await });
    }
    let mut coupons = BTreeSet::new();
    let mut refused = 0;
    for text in customers.join_all().await {
        match text? {
            text if text == "none left\n" => refused += 1,
            coupon => ensure!(coupons.insert(coupon.clone()), "{coupon} twice"),
        }
    }
    let all = (1..=COUPONS).map(|number| format!("coupon {number}\n"));
    ensure!(coupons == all.collect(), "{coupons:?}");
    ensure!(refused == COUPONS, "{refused} refused");
    Ok(())
}
