//! Taking a plain lock over from its holder.

use std::ptr;

use super::{Kind, mutex, refuse};
use crate::error::Fault;

impl Kind {
    /// Lets it take the lock from its holder.
    pub(crate) fn set_take_over(&mut self) -> Result<(), Fault> {
        let is_plain = ptr::eq(self.row, &mutex::ROW) && self.signal_list.is_none();
        refuse((!is_plain).then_some(
            "only a plain lock behind one bridge, without a signal list, is taken over",
        ))?;
        self.row = &mutex::TAKING_OVER;
        Ok(())
    }

    pub(crate) fn takes_over(&self) -> bool {
        ptr::eq(self.row, &mutex::TAKING_OVER)
    }
}
