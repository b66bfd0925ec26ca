//! What lets one call through in a window. No lock: nobody holds it, and it ends with the window.

use super::lua::{Script, part};

/// Passes, or says for how long nobody may.
pub(crate) static PASS: Script = Script::of(&[part!("throttle/pass.lua")]);
/// Gives back a pass that its caller was not told of.
pub(crate) static GIVE_BACK: Script = Script::of(&[part!("throttle/give_back.lua")]);
