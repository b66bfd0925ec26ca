//! The same in a browser. Without this line, `wasm-pack test --chrome` skips a test, and succeeds.
#![cfg(target_family = "wasm")]

mod count;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
