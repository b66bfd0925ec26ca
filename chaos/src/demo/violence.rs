//! Faults in the middle of a sale.

use anyhow::{Result, ensure};
use testkit::sale::STOCK;
use testkit::sale::ledger::RedisProbe;
use testkit::sale::load::Figures;
use testkit::stack::Worker;

/// Each fault happens once, when so many units are sold.
#[derive(Default)]
pub(super) struct Violence {
    /// How many orders the sale has.
    orders: u64,
    killed: bool,
    cut: u64,
    restarted: bool,
}

impl Violence {
    pub(super) fn amid(orders: u64) -> Self {
        Self { orders, ..Self::default() }
    }

    pub(super) fn go_on(
        &mut self,
        figures: &Figures,
        worker: &mut Worker,
        probe: &mut RedisProbe,
    ) -> Result<()> {
        if figures.units >= STOCK / 4 && !self.killed {
            worker.kill();
            self.killed = true;
        }
        if figures.units >= STOCK / 2 && self.cut == 0 {
            self.cut = probe.cut_connections()?;
        }
        if figures.answered >= self.orders / 2 && !self.restarted {
            worker.restart()?;
            self.restarted = true;
        }
        Ok(())
    }

    pub(super) fn report(&self) -> Result<()> {
        ensure!(
            self.killed && self.cut > 0 && self.restarted,
            "the sale was over before anything went wrong in it"
        );
        println!("  a Worker was killed and came back; connections to Redis cut: {}", self.cut);
        Ok(())
    }
}
