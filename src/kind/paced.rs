//! What calls come to: a throttle lets one through in a window, a debounce the last of a burst once
//! it is quiet. No locks: nobody holds them, and they end with their time.

use super::lua::{Script, part};

/// Passes, or says for how long nobody may.
pub(crate) static PASS: Script = Script::of(&[part!("throttle/pass.lua")]);
/// Gives back a pass that its caller was not told of.
pub(crate) static GIVE_BACK: Script = Script::of(&[part!("throttle/give_back.lua")]);

const WAITING: &str = part!("debounce/waiting.lua");

/// Overtakes the calls before it, and says how long to wait.
pub(crate) static ARRIVE: Script = Script::of(&[WAITING, part!("debounce/arrive.lua")]);
/// Goes through, or was overtaken.
pub(crate) static SETTLE: Script = Script::of(&[WAITING, part!("debounce/settle.lua")]);
/// Gives up a call that may arrive yet.
pub(crate) static LEAVE: Script = Script::of(&[WAITING, part!("debounce/leave.lua")]);
