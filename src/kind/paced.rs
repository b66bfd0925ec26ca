//! What calls come to: a throttle lets one through in a window, a debounce the last of a burst once
//! it is quiet. No locks: nobody holds them, and they end with their time.

use super::lua::{Script, script};

/// Passes, or says for how long nobody may.
pub(crate) static PASS: Script = script!(throttle::PASS);
/// Gives back a pass that its caller was not told of.
pub(crate) static GIVE_BACK: Script = script!(throttle::GIVE_BACK);

/// Overtakes the calls before it, and says how long to wait.
pub(crate) static ARRIVE: Script = script!(debounce::ARRIVE);
/// Goes through, or was overtaken.
pub(crate) static SETTLE: Script = script!(debounce::SETTLE);
/// Gives up a call that may arrive yet.
pub(crate) static LEAVE: Script = script!(debounce::LEAVE);
