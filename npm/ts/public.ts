// The contents page of the package.
export type { CallOptions } from "./abort.js";
export { Client } from "./client.js";
export type { BridgeOptions, BridgeSettings, ClientOptions, ClientSettings, FetchInit, FetchResponse, QuorumOptions, ReadOptions, ShardOptions, UpstashOptions, WebdisOptions } from "./client-options.js";
export type { Command, Word } from "./command.js";
export { type AnyEdgelockError, BusyError, CommandFailedError, EdgelockError, HeldError, InternalError, InvalidArgumentError, LostError, NotReplicatedError, type OtherError, QuarantinedError, ReservationError, ResultError, TimedOutError, UnavailableError } from "./errors.js";
export type { ErrorCode } from "./failure.js";
export type { LockEvent } from "./event.js";
export { GroupCommit, type GroupCommitOptions } from "./group.js";
export { type KeepAliveOptions, Lease, type RenewOptions, type RunOptions, type StopKeeping } from "./lease.js";
export { Lock } from "./lock.js";
export type { Limit, LimitsOptions, LockAllOptions, LockOptions, ReadWriteOptions, ReentrantOptions, ReservationOptions, SemaphoreOptions } from "./lock-options.js";
export { type Handler, idempotent, type IdempotentOptions } from "./idempotent.js";
export { Cached, type CachedOptions, Once, type OnceOptions, type OnceOutcome } from "./once.js";
export type { Holder, Inspection, Reply } from "./raw.js";
export { ReadWrite } from "./read-write.js";
export type { Decision, Section } from "./section.js";
export { Debounce, type DebounceOptions, type DebounceOutcome, Throttle, type ThrottleOutcome } from "./paced.js";
