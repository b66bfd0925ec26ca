//! What is wanted of kinds that have permits: how many there are, how many of them one takes, and
//! how many one owner may have.

use std::ptr;

use super::{Kind, reservations};
use crate::error::Fault;

impl Kind {
    /// Has it take so many of its permits at once.
    pub(crate) fn set_weight(&mut self, weight: u32) -> Result<(), Fault> {
        let Some((permits, _, most)) = self.permits() else {
            return Err(Fault::invalid(
                "only semaphores and reservations have a weight",
            ));
        };
        self.want(permits, weight, most);
        if (1..=permits).contains(&weight) {
            return Ok(());
        }
        Err(Fault::invalid(format!(
            "a weight is 1 to the number of permits, {permits}, not {weight}"
        )))
    }

    /// Has whoever has its label have so many of its units at most.
    pub(crate) fn set_most(&mut self, most: u32) -> Result<(), Fault> {
        match self.permits() {
            Some((units, weight, _)) if ptr::eq(self.row, &reservations::ROW) && most > 0 => {
                self.want(units, weight, Some(most));
                Ok(())
            }
            _ => Err(Fault::invalid(
                "only reservations have an owner, who may have 1 unit or more",
            )),
        }
    }

    /// How many permits there are, how many of them are wanted, and how many one owner may have.
    fn permits(&self) -> Option<(u32, u32, Option<u32>)> {
        let mut words = self.wants.split('/').map(|word| word.parse().ok());
        let permits = words.next()??;
        Some((
            permits,
            words.next().flatten().unwrap_or(1),
            words.next().flatten(),
        ))
    }

    fn want(&mut self, permits: u32, weight: u32, most: Option<u32>) {
        self.wants = match (weight, most) {
            (1, None) => permits.to_string(),
            (_, None) => format!("{permits}/{weight}"),
            (_, Some(most)) => format!("{permits}/{weight}/{most}"),
        };
    }
}
