//! `cargo xtask bench`: what a lock costs on top of the request that carries it, in Node and in
//! `workerd`.
//!
//! All cases take turns with one bridge, round by round. Each figure is the median, over all
//! rounds, of the ratio to the bare POST of the same round. So a machine that is busy for a while
//! slows all cases alike.

use anyhow::Result;
use testkit::interrupt;

use crate::js::{Bundles, Kind};

const BASE: &str = "bare POST";

pub(crate) fn run() -> Result<()> {
    let bundles = Bundles::build()?;
    interrupt::or(async {
        for kind in Kind::ALL {
            println!("{}", bundles.measure(kind).await?.table(kind.name(), BASE));
        }
        Ok(())
    })
}
