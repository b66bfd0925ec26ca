//! Writes the Lua of `src/kind` as it is sent, each file under its own name.

#[path = "src/kind/short.rs"]
mod short;

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new("src/kind");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").expect("cargo says where");
    let sources = short::sources(folder);
    let names = short::Names::of(&sources);
    for (path, source) in sources {
        let sent = Path::new(&out).join(path.strip_prefix(folder).expect("below it"));
        fs::create_dir_all(sent.parent().expect("a folder")).expect("a folder can be made");
        fs::write(sent, names.shorten(&source)).expect("a file can be written");
    }
}
