//! `cargo xtask reference`: builds the reference of the crates and of the npm package, as static
//! pages.

use std::process::Command;

use anyhow::Result;
use testkit::paths;
use testkit::programs::run;

use crate::setup::{self, Needs};

pub(crate) fn build() -> Result<()> {
    setup::run(Needs::Everything)?;
    run(paths::cargo()
        .args(["doc", "--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings"))?;
    let typescript = paths::target().join("reference");
    run(Command::new("node")
        .arg(paths::root().join("node_modules/typedoc/bin/typedoc"))
        .args(["--name", "edgelock", "--tsconfig", "npm/tsconfig.json"])
        .args(["--entryPoints", "npm/ts/public.ts"])
        .args(["--readme", "npm/README.md"])
        // Leaves out what is not for users, and the folders of this machine.
        .args(["--excludeInternal", "--excludePrivate", "--disableSources"])
        .args(["--treatWarningsAsErrors", "--logLevel", "Warn", "--out"])
        .arg(&typescript)
        .current_dir(paths::root()))?;
    for (language, page) in [
        ("Rust", paths::target().join("doc/edgelock/index.html")),
        ("TypeScript", typescript.join("index.html")),
    ] {
        println!("{language:<11} {}", page.display());
    }
    Ok(())
}
