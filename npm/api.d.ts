/// <reference lib="esnext.disposable" />
export interface CallOptions {
	readonly signal?: AbortSignal | undefined;
}
export type ErrorCode = "invalid_argument" | "entropy_unavailable" | "held" | "quarantined" | "not_replicated" | "fingerprint_mismatch" | "result_too_large" | "result_unreadable" | "sold_out" | "owner_limit" | "confirmed" | "lost" | "expired" | "max_hold_exceeded" | "released" | "busy" | "command_failed" | "wrong_type" | "unauthorized" | "refused" | "unavailable" | "timed_out" | "redirected" | "not_json" | "truncated" | "too_large" | "unexpected_reply" | "internal";
export declare class EdgelockError extends Error {
	readonly name: string;
	readonly code: ErrorCode;
	readonly isOutcomeUnknown: boolean;
	readonly isRetryable: boolean;
	readonly lock: string | undefined;
	readonly advice: string;
}
export declare class InvalidArgumentError extends EdgelockError {
	readonly name = "InvalidArgumentError";
	readonly code: "invalid_argument";
}
export declare class HeldError extends EdgelockError {
	readonly name = "HeldError";
	readonly code: "held";
	readonly remaining: number | null;
	readonly ahead: number;
	readonly label: string | null;
	readonly retryAfter: number;
	readonly requests: number;
}
export declare class QuarantinedError extends EdgelockError {
	readonly name = "QuarantinedError";
	readonly code: "quarantined";
	readonly retryAfter: number;
}
export declare class NotReplicatedError extends EdgelockError {
	readonly name = "NotReplicatedError";
	readonly code: "not_replicated";
	readonly asked: number;
	readonly acknowledged: number;
}
export declare class ResultError extends EdgelockError {
	readonly name = "ResultError";
	readonly code: "result_too_large" | "result_unreadable";
	readonly bytes: number | null;
	readonly most: number | null;
}
export declare class ReservationError extends EdgelockError {
	readonly name = "ReservationError";
	readonly code: "sold_out" | "owner_limit" | "confirmed";
}
export declare class LostError extends EdgelockError {
	readonly name = "LostError";
	readonly code: "lost" | "expired" | "max_hold_exceeded";
}
export declare class BusyError extends EdgelockError {
	readonly name = "BusyError";
	readonly code: "busy";
}
export declare class CommandFailedError extends EdgelockError {
	readonly name = "CommandFailedError";
	readonly code: "command_failed";
	readonly index: number;
	readonly command: string;
}
export declare class UnavailableError extends EdgelockError {
	readonly name = "UnavailableError";
	readonly code: "unavailable";
	readonly retryAfter: number | null;
}
export declare class TimedOutError extends EdgelockError {
	readonly name = "TimedOutError";
	readonly code: "timed_out";
}
export declare class InternalError extends EdgelockError {
	readonly name = "InternalError";
	readonly code: "internal";
}
export type AnyEdgelockError = InvalidArgumentError | HeldError | QuarantinedError | NotReplicatedError | ResultError | ReservationError | LostError | BusyError | CommandFailedError | UnavailableError | TimedOutError | InternalError | OtherError;
export type OtherError = EdgelockError & {
	readonly code: "entropy_unavailable" | "fingerprint_mismatch" | "released" | "wrong_type" | "unauthorized" | "refused" | "redirected" | "not_json" | "truncated" | "too_large" | "unexpected_reply";
};
export type Reply = null | number | bigint | string | Uint8Array | {
	readonly error: string;
} | {
	readonly rounded: number;
} | readonly Reply[];
export interface Inspection {
	readonly holder: Holder | null;
	readonly holders: readonly Holder[];
	readonly free: number | null;
	readonly confirmed: number | null;
	readonly isRead: boolean;
	readonly fence: number | bigint | null;
	readonly waiters: number;
	readonly quarantineRemaining: number | null;
}
export interface Holder {
	readonly token: string;
	readonly count: number | bigint;
	readonly remaining: number | null;
	readonly label: string | null;
}
export type Word = string | number | bigint | {
	readonly key: string;
};
export type Command = readonly [
	name: string,
	...words: Word[]
];
export interface RenewOptions extends CallOptions {
	readonly ttl?: number | undefined;
}
export interface RunOptions {
	readonly maxHold?: number | undefined;
	readonly signal?: AbortSignal | undefined;
}
export interface KeepAliveOptions extends Pick<RunOptions, "maxHold"> {
	readonly signal?: AbortSignal | undefined;
}
export interface StopKeeping extends Disposable {
	(): void;
}
export declare class Lease implements Disposable, AsyncDisposable {
	#private;
	readonly [Symbol.dispose]: () => void;
	readonly [Symbol.asyncDispose]: () => Promise<void>;
	readonly name: string;
	private constructor();
	get fence(): number;
	get token(): string;
	get remaining(): number;
	get expiresAt(): Date | null;
	get signal(): AbortSignal;
	renew(options?: RenewOptions): Promise<void>;
	downgrade(options?: CallOptions): Promise<void>;
	exec(commands: readonly Command[], options?: CallOptions): Promise<Reply[]>;
	commit(commands: readonly Command[], options?: CallOptions): Promise<Reply[]>;
	release(options?: CallOptions): Promise<void>;
	run<T>(work: (lease: this) => T | PromiseLike<T>, options?: RunOptions): Promise<T>;
	keepAlive(options?: KeepAliveOptions): StopKeeping;
	handOver(): string;
}
export interface LockOptions {
	readonly ttl?: number | undefined;
	readonly wait?: number | undefined;
	readonly fair?: boolean | undefined;
	readonly maxRequests?: number | undefined;
	readonly maxHold?: number | undefined;
	readonly signalList?: string | undefined;
	readonly takeOver?: boolean | undefined;
	readonly listen?: boolean | undefined;
	readonly label?: string | undefined;
	readonly waitForReplicas?: {
		readonly count: number;
		readonly within: number;
	} | undefined;
	readonly signal?: AbortSignal | undefined;
}
export interface SemaphoreOptions extends Omit<LockOptions, "signalList" | "takeOver"> {
	readonly weight?: number | undefined;
}
export interface ReservationOptions extends Omit<LockOptions, "fair" | "signalList" | "label" | "takeOver"> {
	readonly weight?: number | undefined;
	readonly owner?: {
		readonly id: string;
		readonly most: number;
	} | undefined;
}
export type ReadWriteOptions = Omit<LockOptions, "signalList" | "takeOver">;
export type LockAllOptions = Omit<LockOptions, "signalList" | "takeOver">;
export interface Limit {
	readonly name: string;
	readonly limit: number;
	readonly permits?: number | undefined;
}
export type LimitsOptions = Omit<LockOptions, "fair" | "signalList" | "takeOver">;
export type ReentrantOptions = Omit<LockOptions, "fair" | "signalList" | "label" | "takeOver">;
export interface OnceOptions extends Pick<LockOptions, "maxHold" | "maxRequests" | "signal"> {
	readonly keep?: number | undefined;
	readonly fingerprint?: string | undefined;
	readonly maxBytes?: number | undefined;
	readonly ttl?: number | undefined;
	readonly wait?: number | undefined;
	readonly ifUnavailable?: "fail" | "run" | undefined;
}
export interface OnceOutcome<T> {
	readonly value: T;
	readonly replayed: boolean;
	readonly notKept?: UnavailableError | TimedOutError;
}
export declare class Once<L extends Lease | undefined = Lease> {
	#private;
	readonly key: string;
	private constructor();
	run<T>(work: (lease: L) => T | PromiseLike<T>, options?: CallOptions): Promise<OnceOutcome<T>>;
	forget(options?: CallOptions): Promise<boolean>;
}
export interface CachedOptions extends Pick<OnceOptions, "ttl" | "wait" | "maxBytes" | "maxHold" | "maxRequests" | "signal" | "ifUnavailable"> {
	readonly fresh: number;
	readonly stale: number;
}
export declare class Cached {
	#private;
	readonly key: string;
	private constructor();
	get<T>(refill: () => T | PromiseLike<T>, options?: CallOptions): Promise<T>;
	forget(options?: CallOptions): Promise<boolean>;
}
export type LockEvent = {
	readonly lock: string;
} & ({
	readonly type: "contended";
	readonly remaining: number | null;
	readonly ahead: number;
} | {
	readonly type: "acquired";
	readonly waited: number;
	readonly requests: number;
} | {
	readonly type: "gave_up";
	readonly waited: number;
	readonly requests: number;
} | {
	readonly type: "replayed";
	readonly waited: number;
	readonly requests: number;
} | {
	readonly type: "renewed";
	readonly took: number;
} | {
	readonly type: "lost";
	readonly held: number;
} | {
	readonly type: "released";
	readonly held: number;
	readonly took: number;
} | {
	readonly type: "retried";
	readonly error: AnyEdgelockError;
	readonly pause: number;
} | {
	readonly type: "grouped";
	readonly items: number;
	readonly waiting: number;
	readonly took: number;
});
export interface FetchInit {
	readonly method: "POST";
	readonly redirect: "manual";
	readonly headers: Record<string, string>;
	readonly body?: string;
	readonly signal: AbortSignal;
}
export interface FetchResponse {
	readonly status: number;
	readonly headers: {
		get(name: string): string | null;
	};
	readonly body: unknown;
	text(): Promise<string>;
}
export interface BridgeSettings {
	readonly push?: boolean | undefined;
	readonly keyLocking?: boolean | undefined;
	readonly plainHttp?: boolean | undefined;
}
export interface ClientSettings extends BridgeSettings {
	readonly prefix?: string | undefined;
	readonly requestTimeout?: number | undefined;
	readonly maxAttempts?: number | undefined;
	readonly fenceLife?: number | undefined;
	readonly fetch?: ((url: string, init: FetchInit) => Promise<FetchResponse>) | undefined;
	readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
	readonly signal?: AbortSignal | undefined;
	readonly onEvent?: ((event: LockEvent) => void) | undefined;
}
export interface UpstashOptions extends BridgeSettings {
	readonly url: string;
	readonly credential: string;
	readonly webdis?: undefined;
}
export interface WebdisOptions extends BridgeSettings {
	readonly url: string;
	readonly webdis: {
		readonly user: string;
		readonly password: string;
	};
	readonly credential?: undefined;
}
export type BridgeOptions = UpstashOptions | WebdisOptions;
export interface QuorumOptions {
	readonly quorum: readonly BridgeOptions[];
	readonly restartQuarantine?: number | undefined;
}
export interface ShardOptions {
	readonly shards: Readonly<Record<string, BridgeOptions>>;
}
export interface ReadOptions extends CallOptions {
	readonly shardOf?: string | undefined;
}
export type ClientOptions = ClientSettings & (BridgeOptions | QuorumOptions | ShardOptions);
export type ThrottleOutcome = {
	readonly passed: true;
} | {
	readonly passed: false;
	readonly retryAfter: number;
};
export declare class Throttle {
	#private;
	readonly name: string;
	private constructor();
	tryPass(options?: CallOptions): Promise<ThrottleOutcome>;
}
export interface DebounceOptions {
	readonly maxWait?: number | undefined;
}
export type DebounceOutcome<T> = {
	readonly superseded: false;
	readonly value: T;
} | {
	readonly superseded: true;
};
export declare class Debounce {
	#private;
	readonly name: string;
	private constructor();
	run<T>(work: () => T | PromiseLike<T>, options?: CallOptions): Promise<DebounceOutcome<T>>;
}
export declare class Lock {
	#private;
	readonly name: string;
	private constructor();
	tryAcquire(options?: CallOptions): Promise<Lease | null>;
	tryAcquireAndRead(reads: readonly Command[], options?: CallOptions): Promise<[
		lease: Lease | null,
		replies: Reply[]
	]>;
	acquire(options?: CallOptions): Promise<Lease>;
	acquireAndRead(reads: readonly Command[], options?: CallOptions): Promise<[
		lease: Lease,
		replies: Reply[]
	]>;
	run<T>(work: (lease: Lease) => T | PromiseLike<T>, options?: CallOptions): Promise<T>;
	inspect(options?: CallOptions): Promise<Inspection>;
	forceRelease(options?: CallOptions): Promise<boolean>;
	resume(token: string): Lease;
}
export declare class ReadWrite {
	#private;
	private constructor();
	read(options?: ReadWriteOptions): Lock;
	write(options?: ReadWriteOptions): Lock;
}
export declare class Client {
	#private;
	constructor(options: ClientOptions);
	static fromEnv(env?: object, settings?: ClientSettings): Client;
	lock(name: string, options?: LockOptions): Lock;
	reentrant(name: string, owner: string, options?: ReentrantOptions): Lock;
	semaphore(name: string, permits: number, options?: SemaphoreOptions): Lock;
	reservations(name: string, units: number, options?: ReservationOptions): Lock;
	readWrite(name: string): ReadWrite;
	lockAll(names: readonly string[], options?: LockAllOptions): Lock;
	limits(limits: readonly Limit[], options?: LimitsOptions): Lock;
	once(key: string, options: OnceOptions & {
		readonly ifUnavailable: "run";
	}): Once<Lease | undefined>;
	once(key: string, options?: OnceOptions & {
		readonly ifUnavailable?: "fail" | undefined;
	}): Once;
	cached(key: string, options: CachedOptions): Cached;
	throttle(name: string, window: number): Throttle;
	debounce(name: string, wait: number, options?: DebounceOptions): Debounce;
	read(reads: readonly Command[], options?: ReadOptions): Promise<Reply[]>;
}
export interface Decision<Answer> {
	readonly answer: Answer;
	readonly writes?: readonly Command[] | undefined;
}
export interface Section<Item, Answer, State = undefined> {
	readonly usesFence?: boolean | undefined;
	reads(item: Item): readonly Command[];
	begin?(): State;
	decide(item: Item, replies: readonly Reply[], state: State, fence: number): Decision<Answer>;
	end?(state: State): readonly Command[];
	peek?(item: Item, replies: readonly Reply[]): {
		readonly answer: Answer;
	} | undefined;
}
export interface GroupCommitOptions {
	readonly maxItems?: number | undefined;
	readonly maxBytes?: number | undefined;
	readonly maxWaiting?: number | undefined;
}
export declare class GroupCommit<Item, Answer, State = undefined> {
	#private;
	constructor(section: Section<Item, Answer, State>, options?: GroupCommitOptions);
	submit(lock: Lock, item: Item, options?: CallOptions): Promise<Answer>;
}
export type Handler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | PromiseLike<Response>;
export interface IdempotentOptions<Rest extends unknown[]> extends Omit<OnceOptions, "fingerprint" | "signal"> {
	readonly client: Client | ((request: Request, ...rest: Rest) => Client);
	readonly key?: ((request: Request, ...rest: Rest) => string | null | PromiseLike<string | null>) | undefined;
	readonly scope?: ((request: Request, ...rest: Rest) => string | PromiseLike<string>) | undefined;
	readonly required?: boolean | undefined;
	readonly fingerprint?: ((request: Request, ...rest: Rest) => string | PromiseLike<string>) | undefined;
	readonly keepIf?: ((response: Response, request: Request, ...rest: Rest) => boolean | PromiseLike<boolean>) | undefined;
	readonly onNotKept?: ((error: ResultError | UnavailableError | TimedOutError, request: Request, ...rest: Rest) => void | PromiseLike<void>) | undefined;
}
export declare function idempotent<Rest extends unknown[]>(handler: Handler<Rest>, options: IdempotentOptions<Rest>): (request: Request, ...rest: Rest) => Promise<Response>;

