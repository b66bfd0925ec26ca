//! Run by `wasm-pack test`, in Node and in a browser. The bridge's address is compiled in, since a
//! browser has no environment.
#![cfg(target_family = "wasm")]

use wasm_bindgen_futures::js_sys::{Array, Math, Promise};
use wasm_bindgen_futures::{JsFuture, future_to_promise};
use wasm_bindgen_test::wasm_bindgen_test;

const URL: &str = env!("EDGELOCK_BRIDGE_URL");
const CREDENTIAL: &str = env!("EDGELOCK_BRIDGE_CREDENTIAL");

#[wasm_bindgen_test]
async fn no_count_is_lost_however_many_count_at_once() {
    let name = format!("count-{}", Math::random());
    let counting = |name: String| {
        future_to_promise(async move { Ok(counter::count(URL, CREDENTIAL, &name).await?.into()) })
    };
    let all: Array = (0..5).map(|_| counting(name.clone())).collect();
    let all = JsFuture::from(Promise::all(&all)).await.expect("five counts");
    let mut counts: Vec<_> = Array::from(&all).iter().map(|count| count.as_f64()).collect();
    counts.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    assert_eq!(counts, [1.0, 2.0, 3.0, 4.0, 5.0].map(Some));
}
