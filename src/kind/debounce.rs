//! What lets the last call of a burst through, once it is quiet. No lock: nobody holds it.

use super::lua::{Script, part};

const WAITING: &str = part!("debounce/waiting.lua");

/// Overtakes the calls before it, and says how long to wait.
pub(crate) static ARRIVE: Script = Script::of(&[WAITING, part!("debounce/arrive.lua")]);
/// Goes through, or was overtaken.
pub(crate) static SETTLE: Script = Script::of(&[WAITING, part!("debounce/settle.lua")]);
/// Gives up a call that may arrive yet.
pub(crate) static LEAVE: Script = Script::of(&[WAITING, part!("debounce/leave.lua")]);
