//! All differences between one kind and another.

use super::lua::{Script, Scripts};
use crate::name::Name;
use crate::words::Words;

pub(super) struct Row {
    pub(super) scripts: Scripts,
    /// The scripts of a lock that also feeds a list when it is free.
    pub(super) signalling: Option<Scripts>,
    /// Adds its keys besides those that all locks have. The text is the token or the session.
    pub(super) keys: fn(&Name, &str, &mut Words),
    pub(super) waking: Waking,
    /// For a quorum: makes a fence the lowest that each server may issue next.
    pub(super) raise: Option<Script>,
    /// Makes a reader of a writer.
    pub(super) downgrade: Option<Script>,
    /// Runs commands as if under the lock, or takes it; and under the lock, which it gives on.
    pub(super) turns: Option<[Script; 2]>,
    pub(super) refusals: Refusals,
}

/// How waiters are woken.
pub(super) enum Waking {
    /// Waiters queue. A release gives the lock to one of them, and tells it.
    HandOver,
    /// All listeners of this channel are told that the lock may be free.
    Broadcast(fn(&Name) -> String),
    /// Nobody is told.
    Poll,
}

/// Why a kind refuses something, if it does.
#[derive(Clone, Copy)]
pub(super) struct Refusals {
    pub(super) fair: Option<&'static str>,
    pub(super) label: Option<&'static str>,
    pub(super) commands: Option<&'static str>,
    pub(super) replicas: Option<&'static str>,
    pub(super) signal_list: Option<&'static str>,
    pub(super) turns: Option<&'static str>,
    /// Without a reason it is the quorum's mutex at each of several servers.
    pub(super) majority: Option<&'static str>,
}

impl Refusals {
    pub(super) const NONE: Self = Self {
        fair: None,
        label: None,
        commands: None,
        replicas: None,
        signal_list: None,
        turns: None,
        majority: None,
    };
}
