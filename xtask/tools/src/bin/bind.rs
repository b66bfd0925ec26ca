//! `bind worker|package WASM FOLDER`: writes the JavaScript around a wasm, for the Worker or for
//! the npm package.

use std::env;

use anyhow::{Result, bail};
use wasm_bindgen_cli_support::{Bindgen, EncodeInto};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, wasm, folder] = arguments.as_slice() else {
        bail!("usage: bind worker|package WASM FOLDER");
    };
    let mut bindgen = Bindgen::new();
    match what.as_str() {
        // The module can start again after a trap.
        "worker" => bindgen
            .module(true)?
            .out_name("index")
            .reset_state_function(true)
            .force_enable_abort_handler(true),
        // Every host has `TextEncoder.encodeInto`.
        "package" => bindgen.bundler(true)?.encode_into(EncodeInto::Always),
        other => bail!("{other} is neither worker nor package"),
    };
    bindgen.input_path(wasm).typescript(false).generate(folder)
}
