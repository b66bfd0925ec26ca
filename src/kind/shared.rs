//! The Lua that kinds share, part by part.

use super::lua::part;

pub(super) const KEYS: &str = part!("shared/keys.lua");
pub(super) const LOOK: &str = part!("shared/look.lua");
pub(super) const RECORD: &str = part!("shared/record.lua");
pub(super) const VERSION: &str = part!("shared/version.lua");
pub(super) const LIFE: &str = part!("shared/life.lua");
pub(super) const CLOCK: &str = part!("shared/clock.lua");
pub(super) const RESP: &str = part!("shared/resp.lua");
pub(super) const FENCE: &str = part!("shared/fence.lua");
pub(super) const PROLONG: &str = part!("shared/prolong.lua");
pub(super) const TAKE: &str = part!("shared/take.lua");
pub(super) const ANOTHER: &str = part!("shared/another.lua");
pub(super) const QUEUE: &str = part!("shared/queue.lua");
pub(super) const TOLD: &str = part!("shared/told.lua");
pub(super) const RECEIPT: &str = part!("shared/receipt.lua");
pub(super) const LOST: &str = part!("shared/lost.lua");
pub(super) const RENEW: &str = part!("shared/renew.lua");
pub(super) const RELEASE: &str = part!("shared/release.lua");
pub(super) const ABANDON: &str = part!("shared/abandon.lua");
pub(super) const INSPECT: &str = part!("shared/inspect.lua");
pub(super) const ALONE: &str = part!("shared/alone.lua");
pub(super) const FORCE_RELEASE: &str = part!("shared/force_release.lua");
pub(super) const REPLY: &str = part!("shared/reply.lua");
pub(super) const READ: &str = part!("shared/read.lua");
pub(super) const ACQUIRED: &str = part!("shared/acquired.lua");

// For kinds that queue.
pub(super) const JOIN: &str = part!("shared/join.lua");
pub(super) const IF_WAITED_FOR: &str = part!("shared/if_waited_for.lua");
pub(super) const LEAVE_QUEUE: &str = part!("shared/leave_queue.lua");
pub(super) const PASS_ON: &str = part!("shared/pass_on.lua");
pub(super) const HEARING: &str = part!("shared/hearing.lua");

// For kinds with several holders at once.
pub(super) const HOLDERS: &str = part!("shared/holders.lua");
pub(super) const CLEAN: &str = part!("shared/clean.lua");
pub(super) const HAND_ON: &str = part!("shared/hand_on.lua");
pub(super) const HAD: &str = part!("shared/had.lua");
