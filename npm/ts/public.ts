// The contents page of the package.
export type { CallOptions } from "./abort.js";
export {
  type BridgeOptions,
  Client,
  type ClientOptions,
  type ClientSettings,
  type FetchInit,
  type FetchResponse,
  type QuorumOptions,
  type ReadOptions,
  ReadWrite,
  type ShardOptions,
  type UpstashOptions,
  type WebdisOptions,
} from "./client.js";
export type { Command, Word } from "./command.js";
export { Debounce, type DebounceOptions, type DebounceOutcome } from "./debounce.js";
export {
  type AnyEdgelockError,
  BadResponseError,
  BusyError,
  CommandFailedError,
  EdgelockError,
  type ErrorCode,
  HeldError,
  InternalError,
  InvalidArgumentError,
  LostError,
  EntropyUnavailableError,
  FingerprintMismatchError,
  QuarantinedError,
  RefusedError,
  ReleasedError,
  ResultError,
  TimedOutError,
  UnavailableError,
  NotReplicatedError,
  WrongTypeError,
} from "./errors.js";
export type { LockEvent } from "./event.js";
export { type Decision, GroupCommit, type GroupCommitOptions, type Section } from "./group.js";
export { type KeepAliveOptions, type RunOptions, Lease, type RenewOptions, type StopKeeping } from "./lease.js";
export { Lock, type LockAllOptions, type LockOptions, type ReadWriteOptions, type ReentrantOptions, type SemaphoreOptions } from "./lock.js";
export { type Handler, idempotent, type IdempotentOptions } from "./idempotent.js";
export { Once, type OnceOptions, type OnceOutcome } from "./once.js";
export type { Holder, Inspection, Reply } from "./raw.js";
export { Throttle, type ThrottleOutcome } from "./throttle.js";
