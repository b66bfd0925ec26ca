// What the caller of a failed call can do about it. src/error/facts.rs says the same with Rust's
// names; a test compares the two.
import type { ErrorCode, Reason } from "./failure.js";

const COME_AGAIN = "Try again later.";
const MAY_HAVE_RUN =
  "It may have been done: a lock that was taken frees itself after its ttl, and of writes, read what they change before you write again.";
const LOOK_AT_THE_ADDRESS = "Check that the address is that of a bridge, without a path unless it wants one, and what lies between.";

/** By the reason, where more is known than the code. */
const ADVICE: Readonly<Record<ErrorCode | Reason, string>> = {
  invalid_argument: "Correct what the message names; the same call fails again.",
  entropy_unavailable: "Acquire inside a request handler; a client may be made outside.",
  held: "Come back after `retryAfter` milliseconds, or wait longer. If it is a lock that this work itself has, use `reentrant`.",
  quarantined: "Come back after `retryAfter` milliseconds.",
  not_replicated: "Come back once the replicas have caught up, or ask for fewer.",
  fingerprint_mismatch: "Use another key for another request; the same call fails again.",
  result_too_large: "Keep less, as the id of what was made, or raise `maxBytes`.",
  result_unreadable: "Let the work return what JSON can hold, with neither a BigInt nor a circle. If another program or version stored what is kept, use another key.",
  sold_out: "Offer no more than are left; units that are reserved may fall back, confirmed ones do not.",
  owner_limit: "Ask for fewer, let this owner confirm or release what it has, or wait until that ends.",
  confirmed: "Do nothing: it is confirmed, and the writes of that commit ran.",
  lost: "Stop, and undo what was not written through the lease: another may hold the lock.",
  expired: "Stop, and undo what was not written through the lease: another may hold the lock. If it was just acquired, its ttl is too short: 10_000 is 10 s.",
  max_hold_exceeded: "Stop, and do less under one lease, or raise `maxHold`.",
  released: "Use a lease only until it is given back; acquire again.",
  busy: "Await one write of a lease before the next, and keep it for one work at a time.",
  command_failed: "Look at the command with this `index`; the others were executed.",
  wrong_type: "Lock another name, or ask for the kind that is stored under this one. Data belongs under `{name}:…`, but not with an ending that edgelock has, such as `:fence` or `:queue`.",
  unauthorized: "Check the credential, and that it may run scripts.",
  refused: "Fix it on the bridge or Redis; asking again does not help.",
  unavailable: "Try again later; if that does not help, see that the bridge and its Redis run, that the address is right, and that this host trusts its certificate.",
  timed_out: COME_AGAIN,
  redirected: "Use the address that the bridge redirects to.",
  not_json: LOOK_AT_THE_ADDRESS,
  truncated: COME_AGAIN,
  too_large: "Read less at once; or, if nothing was read, check that the address is that of a bridge.",
  unexpected_reply: LOOK_AT_THE_ADDRESS,
  internal: "Please report it, with its `cause`.",
  never_expires: "It is no lock of edgelock, which always expires: if data is stored under the lock's name, lock another name; if not, call `forceRelease`.",
  forbidden_key: "Let the bridge's user of Redis use these keys (`ACL SETUSER … ~pattern`): the lock's name, what begins with it in braces, and those of your commands. If it may use only names with a prefix, give that (`prefix`, `--prefix`).",
  forbidden_command: "Use a credential that may write, if this one may only read. Else let the bridge's user of Redis run this command (`ACL SETUSER … +command`).",
  no_scripts: "Each operation of a lock is a script, and this Redis runs none: let it have `EVAL` and `EVALSHA` (look for `rename-command` in its configuration), or use another.",
  no_password: "Give the bridge the password of its Redis; its log says more.",
  forgotten: "Call again: this call did not do its work, nor that of the calls that it overtook.",
  no_bridge: LOOK_AT_THE_ADDRESS,
  path_is_command: "Look at the path of the address, which the bridge takes for a command: most bridges want none.",
  no_environment: "They are the address and the credential of one bridge. Upstash's console shows its two under REST; `cargo xtask dev` prints those of its bridge; whoever runs edgelock-bridge chose them. A Worker has them in the `env` of its handler. Node reads a file .env only if it is told to (`node --env-file=.env`), and Deno needs --allow-env.",
  no_crypto: "Use a newer host: Node has it from version 20 on, and every edge and browser has it.",
  no_text: "Set `globalThis.TextDecoder` and `TextEncoder` before: in Jest's jsdom, to those of node:util.",
  no_wasm: "Let the host run WebAssembly: in a page's Content-Security-Policy, `script-src` needs 'wasm-unsafe-eval'; in a Worker or an edge function, import edgelock by its name, so that the bundler takes the entry for that host. The `cause` says what the host refuses.",
};

/** The advice for this failure. */
export function adviceOn(why: ErrorCode | Reason, isOutcomeUnknown: boolean): string {
  return isOutcomeUnknown ? `${MAY_HAVE_RUN} ${ADVICE[why]}` : ADVICE[why];
}
