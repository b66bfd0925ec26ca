//! What the scripts of several kinds have in common, part by part.

use super::lua::part;

pub(super) const KEYS: &str = part!("shared/keys.lua");
pub(super) const RESP: &str = part!("shared/resp.lua");
pub(super) const FENCE: &str = part!("shared/fence.lua");
pub(super) const HOLD: &str = part!("shared/hold.lua");
pub(super) const PROLONG: &str = part!("shared/prolong.lua");
pub(super) const ANOTHER: &str = part!("shared/another.lua");
pub(super) const BURY: &str = part!("shared/bury.lua");
pub(super) const QUEUE: &str = part!("shared/queue.lua");
pub(super) const RECEIPT: &str = part!("shared/receipt.lua");
pub(super) const LOST: &str = part!("shared/lost.lua");
pub(super) const RENEW: &str = part!("shared/renew.lua");
pub(super) const RELEASE: &str = part!("shared/release.lua");
pub(super) const VACANT: &str = part!("shared/vacant.lua");
pub(super) const ABANDON: &str = part!("shared/abandon.lua");
pub(super) const INSPECT: &str = part!("shared/inspect.lua");
pub(super) const ALONE: &str = part!("shared/alone.lua");
pub(super) const FORCE_RELEASE: &str = part!("shared/force_release.lua");
pub(super) const READ: &str = part!("shared/read.lua");

// Of kinds that queue.
pub(super) const LINE: &str = part!("shared/line.lua");
pub(super) const HEARING: &str = part!("shared/hearing.lua");
pub(super) const ACQUIRED: &str = part!("shared/acquired.lua");
