//! Broken variants of the lock. The simulation must catch each by the promise that it breaks.
//!
//! `src/` needs no hooks for them: a script's text is changed when it arrives at Redis, clocks and
//! messages on their way.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use edgelock::Response;

use super::bridge::Dialect;
use super::case::Case;
use super::check::Check;
use super::check::Invariant::{self, *};
use super::explore::Fault;
use super::faults::Net;
use super::lua::{Redis, few};
use super::script;
use super::seeds;
use super::trace::Trace;
use super::workload::Locks;
use super::world::{Machine, Time};

/// How clients, network and servers are bent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bent {
    Straight,
    /// A client's clock stands still while its request is under way.
    Standstill,
    /// Clocks run more slowly than the lock allows for.
    Slow,
    /// Messages are late more often, and claim that they were sent when they arrived.
    Freshened,
    /// Requests have no time-out.
    Patient,
    /// When an answer is lost, the client is told that nothing was executed, and believes it.
    Denying,
    /// The clocks of several servers differ by more than the lock allows for.
    Apart,
    /// `WAIT` says that all replicas have everything, even if they do not.
    Boastful,
    /// More requests arrive twice, and late.
    Doubled,
    /// More waiters listen at another node, where they are not counted, and a release hands the
    /// lock to the first in the queue, whether it counts as a listener or not.
    Orderly,
    /// Nothing is bent, but everybody waits for all replicas in every world.
    Replicated,
}

impl Bent {
    pub(crate) fn drift(self, drift_ppm: i64) -> i64 {
        drift_ppm - if self == Self::Slow { 30_000 } else { 0 }
    }

    pub(crate) fn timeout(self, timeout: Duration) -> Duration {
        match self {
            Self::Patient => Duration::from_secs(600),
            _ => timeout,
        }
    }

    /// How far the clocks of several servers may differ; `allowed` is what the lock allows for.
    pub(crate) fn apart(self, allowed: Duration) -> Duration {
        match self {
            Self::Apart => allowed * 10,
            _ => allowed,
        }
    }

    /// Whether replicas that are behind are counted as such.
    pub(crate) const fn counts_replicas(self) -> bool {
        !matches!(self, Self::Boastful)
    }

    /// An exchange of `machine` took so long.
    pub(crate) fn answered(self, machine: &Machine, took: Time) {
        if self == Self::Standstill {
            machine.stood_still.set(machine.stood_still.get() + took);
        }
    }

    /// The response in place of a lost answer.
    pub(crate) fn failed(self, dialect: Dialect, response: Response) -> Response {
        match self {
            Self::Denying => dialect.unreachable(),
            _ => response,
        }
    }

    pub(crate) fn net(self, net: Net) -> Net {
        match self {
            Self::Freshened => Net { late_push: 400, ..net },
            Self::Doubled => Net { duplicate: 400, late: 300, ..net },
            Self::Orderly => Net { elsewhere: net.elsewhere.max(300), ..net },
            _ => net,
        }
    }

    /// The message that arrives for one that was pushed.
    pub(crate) fn pushed(self, message: Vec<u8>, now_us: i64) -> Vec<u8> {
        let text = String::from_utf8_lossy(&message);
        match text.split_once(' ') {
            Some((fence, _)) if self == Self::Freshened => format!("{fence} {now_us}").into_bytes(),
            _ => message,
        }
    }
}

/// More seeds than any of them needs.
const SEEDS: u64 = 20_000;

/// Seeds of worlds that catch what few others do. They are looked at first. As long as their worlds
/// stay as they are, nobody has to look through thousands of others.
const RARE: [u64; 15] =
    [8_277, 5_307, 4_739, 3_558, 3_313, 1_894, 1_694, 1_333, 1_109, 918, 755, 608, 607, 454, 427];

#[track_caller]
fn caught(invariant: Invariant, redis: Rc<Redis>, bent: Bent) {
    caught_among(Locks::Single, invariant, redis, bent);
}

#[track_caller]
fn caught_among(locks: Locks, invariant: Invariant, redis: Rc<Redis>, bent: Bent) {
    seeds::caught(invariant, &RARE, SEEDS, |seed| {
        let check = Check::new(Some(invariant));
        let case = Case::new(seed, &redis, check, bent, Trace::OFF).among(locks);
        case.run().is_some()
    });
}

#[track_caller]
fn script_in(bent: Bent, invariant: Invariant, part: &'static str, by: &'static str) {
    bend(part, by, |redis| caught(invariant, redis(), bent));
}

/// Replaces `part` of some scripts by `by`, in worlds of such locks.
#[track_caller]
pub(crate) fn script_among(
    locks: Locks,
    invariant: Invariant,
    part: &'static str,
    by: &'static str,
) {
    bend(part, by, |redis| caught_among(locks, invariant, redis(), Bent::Straight));
}

/// The same, in worlds with crowds.
#[track_caller]
pub(crate) fn crowd_among(
    locks: Locks,
    invariant: Invariant,
    part: &'static str,
    by: &'static str,
) {
    let bent = |text: &str| few(&script::replaced(text, part, by).0);
    let redis = Rc::new(Redis::new(Box::new(bent)));
    caught_among(locks, invariant, redis, Bent::Straight);
}

/// A broken script: if `part` is replaced by `by`, a promise breaks in worlds of such locks.
pub(crate) struct Broken {
    pub(crate) name: &'static str,
    /// `None` for throttles and debounces.
    pub(crate) locks: Option<Locks>,
    pub(crate) part: &'static str,
    pub(crate) by: &'static str,
    pub(crate) shown: Shown,
}

/// The small world that shows it, the number of clients, and the faults; or why none does.
pub(crate) type Shown = Result<(&'static str, usize, &'static [Fault]), &'static str>;

/// Broken scripts, each as `name: promise in "world" for CLIENTS with FAULTS, part => by`, or with
/// `unseen "reason"` if no small world shows it. Each becomes a test: the simulation must catch it
/// by that promise, in worlds of such locks, or by a function of its own. First may stand in how
/// many of these worlds `no_promise_breaks` without it.
macro_rules! broken {
    ($locks:ident; no_promise_breaks: $seeds:literal seeds; $($all:tt)*) => {
        #[test]
        fn no_promise_breaks() {
            $crate::hold_for($crate::workload::Locks::$locks, $seeds);
        }

        $crate::sabotage::broken! { $locks; $($all)* }
    };
    ($locks:ident; $($all:tt)*) => {
        $crate::sabotage::broken! {
            Some($crate::workload::Locks::$locks),
            |promise, part, by| {
                let locks = $crate::workload::Locks::$locks;
                $crate::sabotage::script_among(locks, promise, part, by)
            };
            $($all)*
        }
    };
    ($locks:expr, $caught:expr; $(
        $name:ident: $promise:ident
            $(in $world:literal for $clients:literal $(with $($fault:ident)+)?)?
            $(unseen $why:literal)?,
            $part:expr => $by:expr;
    )*) => {
        pub(crate) const BROKEN: &[$crate::sabotage::Broken] = &[$({
            let [shown]: [$crate::sabotage::Shown; 1] = [
                $(Ok(($world, $clients, &[$($($crate::explore::Fault::$fault),+)?])),)?
                $(Err($why),)?
            ];
            let (name, locks) = (stringify!($name), $locks);
            $crate::sabotage::Broken { name, locks, part: $part, by: $by, shown }
        }),*];

        $crate::sabotage::each_caught! { $caught; $($name: $promise, $part => $by;)* }
    };
}
pub(crate) use broken;

/// The tests alone.
macro_rules! each_caught {
    ($caught:expr; $($name:ident: $promise:expr, $part:expr => $by:expr;)*) => {
        $(
            #[test]
            fn $name() {
                ($caught)($promise, $part, $by);
            }
        )*
    };
}
pub(crate) use each_caught;

/// Calls `look` with what makes a Redis in which `part` of some scripts is replaced by `by`.
#[track_caller]
pub(crate) fn bend(
    part: &'static str,
    by: &'static str,
    look: impl FnOnce(&dyn Fn() -> Rc<Redis>),
) {
    let replaced = Rc::new(Cell::new(0));
    let redis = || {
        let replaced = replaced.clone();
        Rc::new(Redis::new(Box::new(move |text| {
            let (text, count) = script::replaced(text, part, by);
            assert!(count <= 1, "{part} is there {count} times");
            replaced.set(replaced.get() + count);
            text
        })))
    };
    look(&redis);
    assert!(replaced.get() > 0, "no script has {part}");
}

#[track_caller]
fn bent(invariant: Invariant, bent: Bent) {
    caught(invariant, Rc::default(), bent);
}

pub(crate) const RELEASE: &str = "if not is_held() then return lost() end local is_over = is_another(acquired()) free() if is_over then reply = lost() else reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }";
pub(crate) const RENEW: &str =
    "if not is_held() then return lost() end local fence, ttl = acquired()";

#[test]
fn a_late_acquire_that_cuts_what_a_renewal_gave() {
    let prolonged = "if fence then extend(ARGV[3]) save()";
    let cut = "if fence then redis.call('PEXPIRE', NAME, ARGV[3])";
    script_in(Bent::Doubled, OneHolder, prolonged, cut);
}

#[test]
fn a_deadline_reckoned_from_the_reply() {
    bent(OneHolder, Bent::Standstill);
}

#[test]
fn a_deadline_reckoned_from_the_arrival_of_a_message() {
    bent(OneHolder, Bent::Freshened);
}

#[test]
fn clocks_that_drift_further_than_allowed_for() {
    bent(OneHolder, Bent::Slow);
}

#[test]
fn replicas_that_are_counted_and_do_not_have_it() {
    bent(OneHolder, Bent::Boastful);
}

#[test]
fn a_repeat_that_writes_nothing_for_replicas_to_wait_for() {
    script_in(
        Bent::Replicated,
        ExactlyOnce,
        "redis.pcall('PEXPIRE', RECEIPT, math.max(RECEIPT_MS, redis.call('PTTL', RECEIPT)))",
        "",
    );
}

#[test]
fn a_request_without_time_out() {
    bent(WaitsEnd, Bent::Patient);
}

#[test]
fn a_lost_answer_that_is_taken_for_nothing_executed() {
    bent(ExactlyOnce, Bent::Denying);
}

const FOUND: &str = "string.find(ARGV[6], 'r') and run(10) or nil";

broken! {
    Single;
    a_release_without_owner_check: OneHolder in "mutex" for 2 with Expiry Expiry,
        RELEASE
        => "free() if false then else reply = { 1, ARGV[1], run_last(7, tonumber(ARGV[6])) }";
    a_renewal_without_owner_check: OneHolder in "resumed" for 2 with Expiry,
        RENEW
        => "local fence, ttl = acquired()";
    a_renewal_that_takes_the_lock_again: OneHolder in "mutex" for 2 with Twice,
        RENEW
        => "if not is_held() then redis.call('SET', NAME, ARGV[2], 'PX', ARGV[6]) end local fence, ttl = acquired()";
    a_late_renewal_that_cuts_what_a_later_one_gave: OneHolder
        in "prolonged" for 2 with Late Expiry Expiry,
        "math.max(redis.call('PTTL', key), tonumber(ms))"
        => "ms";
    a_renewal_of_a_resumed_lease_that_does_not_know_its_ttl: NextWaiterHolds in "resumed" for 2,
        "local ms = ARGV[7] == '' and ttl or ARGV[6]"
        => "local ms = ARGV[6]";
    a_resumed_lease_that_does_not_know_its_fence: FencesGrow in "resumed" for 2,
        "{ fence or 0, ms, run(8) }"
        => "{ 0, ms, run(8) }";
    a_write_without_owner_check: NoLateWrite in "resumed" for 2 with Expiry,
        "local function is_held() return HOLDER == ARGV[2] end"
        => "local function is_held() return true end";
    a_write_without_receipt: ExactlyOnce in "mutex" for 2 with LostReply,
        "redis.call('SET', RECEIPT, table.concat({ SESSION, ARGV[4], earlier or '', results }, ' '), 'PX', ms)"
        => "";
    a_receipt_that_answers_a_later_write: ExactlyOnce in "mutex" for 2,
        "if tonumber(number) == NUMBER"
        => "if tonumber(number) <= NUMBER";
    a_receipt_that_answers_another_session: ExactlyOnce in "resumed" for 2,
        "if session == SESSION then"
        => "if session then";
    a_write_that_runs_behind_a_later_one: ExactlyOnce in "writes" for 2 with Late LostRequest,
        "if tonumber(number) > NUMBER then return { 0, ARGV[1] } end"
        => "";
    a_write_that_runs_behind_those_of_a_resumed_lease: ExactlyOnce
        in "resumed" for 2 with Late LostRequest,
        "if name == SESSION and"
        => "if not name and";
    fences_that_only_count: FencesGrow in "emptied" for 2 with Empty,
        "integer(math.max((LAST or 0) + 1, now_us()))"
        => "integer((LAST or 0) + 1)";
    fences_that_only_tell_the_time: FencesGrow in "mutex" for 2,
        "integer(math.max((LAST or 0) + 1, now_us()))"
        => "integer(now_us())";
    a_repeat_that_gets_another_fence: FencesGrow in "queue" for 2,
        "local fence = mine and hold_of(ARGV[2])"
        => "local fence";
    an_abandoned_token_that_is_forgotten: NoGhost in "mutex" for 2 with Late LostRequest,
        "redis.call('SET', GONE, '', 'PX', GONE_MS)"
        => "";
    a_straggler_that_takes_the_lock_again: NoGhost in "mutex" for 2 with Twice,
        "(WENT or DONE)"
        => "(WENT)";
    a_token_that_lost_its_lock_and_is_forgotten: NoGhost in "mutex" for 2 with Late Expiry,
        "redis.pcall('SET', GONE, '', 'PX', 60000, 'NX')"
        => "";
    a_refusal_that_does_not_read: ReadsAreTrue in "looks" for 2,
        FOUND
        => "nil";
    a_refusal_that_says_what_an_earlier_one_found: ReadsAreTrue in "looks" for 3 with Expiry Expiry,
        FOUND
        => "redis.call('SET', 'found:' .. NAME, run(10), 'NX', 'PX', 60000) and run(10) or redis.call('GET', 'found:' .. NAME)";
    an_acquire_that_does_not_know_its_own_token: GrantIsLearned in "queue" for 2,
        "local mine = HOLDER == ARGV[2]"
        => "local mine = false";
    a_holder_that_stays_in_the_queue: NoGhost in "queue" for 2,
        "remove_waiter(WAITER) end"
        => "end";
    a_release_that_wakes_nobody: HandedOver in "queue" for 2,
        "pcall(hand_over)"
        => "";
    a_hand_over_to_a_deaf_waiter: HandedOver
        unseen "it only costs time: who is handed it finds it by asking",
        "if channel ~= '' and listens(channel) then"
        => "if channel ~= '' then";
    a_hand_over_that_is_told_before_anybody_is_counted: OneHolder
        unseen "nobody listens at another node",
        "local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)"
        => "local heard = { 0, redis.pcall('PUBLISH', channel, integer(now_us()) .. ' ' .. integer(now_us())) }";
    a_dead_waiter_that_counts_as_alive: NextWaiterHolds unseen "no waiter dies",
        "return alive <= now and '' or alive > most and most .. waiter or nil"
        => "return nil";
    a_lock_without_expiry: KeysExpire in "mutex" for 2,
        "redis.call('SET', NAME, token, 'NX', 'PX', ms)"
        => "redis.call('SET', NAME, token, 'NX')";
    a_fence_without_expiry: KeysExpire in "mutex" for 2,
        "redis.call('SET', FENCE, text, 'PX', longest_life() + (ms or 0), KEPT and 'XX' or 'NX')"
        => "redis.call('SET', FENCE, text)";
    a_reentrant_lock_that_is_freed_by_the_first_release: OneHolder in "reentrant" for 2,
        "if tonumber(owners[2]) > 1 then"
        => "if false then";
    an_entry_that_gets_a_fence_of_its_own: FencesGrow in "reentrant" for 2,
        "enter(fence, ARGV[3], ARGV[3])"
        => "fence = next_fence() LAST = fence enter(fence, ARGV[3], ARGV[3])";
    an_entry_that_counts_though_it_was_left: OneHolder
        unseen "who stands still does so for longer than any entry lasts",
        "local function drop(token) till[token] = nil"
        => "local function drop(token) if token == '-' then till[token] = nil else return end";
    a_repeat_that_enters_twice: NoGhost in "reentrant" for 2 with LostReply,
        "if is_held() then extend(ARGV[3]) return { 1, ARGV[1], (hold_of(ENTRY)), run(10) } end"
        => "";
}
