// The options of a client and of its locks, checked, as the wasm module takes them.
import { abortSignal, callable, count, flag, given, limit, milliseconds, type Names, optionalText, options as known, text } from "./check.js";
import type { BridgeOptions, BridgeSettings, ClientOptions, ClientSettings, QuorumOptions, ShardOptions, UpstashOptions, WebdisOptions } from "./client-options.js";
import { faintly } from "./event.js";
import type { AnyLockOptions, Limit, LimitsOptions, LockAllOptions, LockOptions, ReadWriteOptions, ReentrantOptions, ReservationOptions, SemaphoreOptions } from "./lock-options.js";
import { invalidArgument } from "./make-error.js";
import type { OnceOptions } from "./once.js";
import { type Value, words } from "./words.js";

const OF_EACH: Names<BridgeSettings> = { push: 1, keyLocking: 1, plainHttp: 1 };
const SETTINGS: Names<ClientSettings> = { prefix: 1, requestTimeout: 1, maxAttempts: 1, fenceLife: 1, ...OF_EACH, fetch: 1, waitUntil: 1, signal: 1, onEvent: 1 };
const BRIDGE: Names<UpstashOptions & WebdisOptions> = { url: 1, credential: 1, webdis: 1, ...OF_EACH };
const WEBDIS: Names<WebdisOptions["webdis"]> = { user: 1, password: 1 };
const OF_A_BRIDGE: Names<ClientSettings & UpstashOptions & WebdisOptions> = { ...BRIDGE, ...SETTINGS };
const OF_A_QUORUM: Names<ClientSettings & QuorumOptions> = { quorum: 1, restartQuarantine: 1, ...SETTINGS };
const OF_SHARDS: Names<ClientSettings & ShardOptions> = { shards: 1, ...SETTINGS };
const OF_A_REENTRANT: Names<ReentrantOptions> = { listen: 1, ttl: 1, wait: 1, maxRequests: 1, maxHold: 1, waitForReplicas: 1, signal: 1 };
const OF_A_READ_WRITE: Names<ReadWriteOptions & LockAllOptions> = { ...OF_A_REENTRANT, fair: 1, label: 1 };
const LIMIT: Names<Limit> = { name: 1, limit: 1, permits: 1 };
const OWNER: Names<NonNullable<ReservationOptions["owner"]>> = { id: 1, most: 1 };
const REPLICAS: Names<NonNullable<LockOptions["waitForReplicas"]>> = { count: 1, within: 1 };
/** The options of each kind, by what errors call it. */
const KINDS = {
  "a lock": { ...OF_A_READ_WRITE, signalList: 1, takeOver: 1 } satisfies Names<LockOptions>,
  "a reentrant lock": OF_A_REENTRANT,
  "a semaphore": { ...OF_A_READ_WRITE, weight: 1 } satisfies Names<SemaphoreOptions>,
  "a reservation": { ...OF_A_REENTRANT, weight: 1, owner: 1 } satisfies Names<ReservationOptions>,
  "a read/write lock": OF_A_READ_WRITE,
  "a lock of several names": OF_A_READ_WRITE,
  "a lock of several limits": { ...OF_A_REENTRANT, label: 1 } satisfies Names<LimitsOptions>,
};
export type Kind = keyof typeof KINDS;
const OF_ONCE: Names<OnceOptions> = { keep: 1, fingerprint: 1, maxBytes: 1, ttl: 1, wait: 1, maxRequests: 1, maxHold: 1, ifUnavailable: 1, signal: 1 };

export function clientConfig(all: ClientOptions): { readonly options: ClientOptions; readonly said: string; readonly onEvent: ((event: string) => void) | undefined } {
  if (typeof all !== "object" || all === null) throw invalidArgument(`a client is made of { url, credential }, not of ${given(all)}`);
  const options = known(all, "quorum" in all ? OF_A_QUORUM : "shards" in all ? OF_SHARDS : OF_A_BRIDGE, "a client");
  const bridges = toBridges(options);
  const said = words("client", "quorum" in options, bridges, ...toSettings(options));
  const { onEvent } = options;
  return { options, said, onEvent: onEvent && faintly(onEvent) };
}

/** The settings alone, of a client whose bridge is found elsewhere. */
export function knownSettings(all: ClientSettings): ClientSettings {
  const settings = known(all, SETTINGS, "a client");
  toSettings(settings);
  return settings;
}

/** Of a lock of any kind: the options as they are, and as the module takes them. */
export function lockConfig(all: AnyLockOptions, kind: Kind): { readonly options: LockOptions; readonly said: Value[] } {
  const options = known(all, KINDS[kind], kind);
  const { waitForReplicas: replicas, owner } = options;
  if (replicas !== undefined && (typeof replicas !== "object" || replicas === null)) throw invalidArgument("waitForReplicas is { count, within }");
  if (replicas) known(replicas, REPLICAS, "waitForReplicas");
  if (owner !== undefined) known(owner, OWNER, "owner");
  const said = [
    ...toTimes(options),
    flag(options.fair, "fair"),
    optionalText(options.signalList, "signalList"),
    optionalText(options.label, "label"),
    replicas && (count(replicas.count, "waitForReplicas.count") ?? 0),
    replicas && (milliseconds(replicas.within, "waitForReplicas.within") ?? 0),
    count(options.weight, "weight", 1),
    owner && text(owner.id, "owner.id"),
    owner && (count(owner.most, "owner.most", 1) ?? 0),
    flag(options.takeOver, "takeOver"),
    flag(options.listen, "listen"),
  ];
  return { options, said };
}

/** One of several limits: its name, how many permits there are, and how many are wanted. */
export function limitConfig(of: Limit): readonly [name: string, limit: number, permits: number] {
  const { name, limit, permits = 1 } = known(of, LIMIT, "a limit");
  return [text(name, "a limit's name"), count(limit, "limit", 1) ?? 0, count(permits, "permits", 1)!];
}

/** The same of work that is executed once. */
export function onceConfig(all: OnceOptions): { readonly options: OnceOptions; readonly said: Value[] } {
  const options = known(all, OF_ONCE, "what is executed once");
  const { ifUnavailable = "fail" } = options;
  if (ifUnavailable !== "fail" && ifUnavailable !== "run") throw invalidArgument('ifUnavailable is "fail" or "run"');
  const said = [milliseconds(options.keep, "keep"), optionalText(options.fingerprint, "fingerprint"), count(options.maxBytes, "maxBytes"), ...toTimes(options)];
  return { options, said };
}

/** What locks and work that is executed once have in common. */
function toTimes({ maxHold, signal, ttl, wait, maxRequests }: LockOptions): Value[] {
  limit(maxHold, "maxHold");
  abortSignal(signal, "signal");
  return [milliseconds(ttl, "ttl"), limit(wait, "wait"), count(maxRequests, "maxRequests", 1)];
}

function toBridges(options: ClientOptions): Value[] {
  if ("quorum" in options) {
    if (!Array.isArray(options.quorum)) throw invalidArgument("quorum is an array of bridges, each { url, credential }");
    return Array.from(options.quorum, (bridge) => toOneOfSeveral(bridge, options));
  }
  if ("shards" in options) {
    if (typeof options.shards !== "object" || options.shards === null) throw invalidArgument("shards is an object of bridges by their ids");
    return Object.entries(options.shards).map(([id, bridge]) => toOneOfSeveral(bridge, options, text(id, "a shard's id")));
  }
  return [toBridge(options, options)];
}

function toOneOfSeveral(bridge: BridgeOptions, settings: BridgeSettings, id?: string): Value[] {
  if (typeof bridge !== "object" || bridge === null) throw invalidArgument("a bridge is { url, credential }");
  return toBridge(known(bridge, BRIDGE, "a bridge"), settings, id);
}

function toBridge(bridge: BridgeOptions, settings: BridgeSettings, id?: string): Value[] {
  const { webdis } = bridge;
  const url = text(bridge.url, "url");
  if (webdis) known(webdis, WEBDIS, "webdis");
  const secret = webdis ? text(webdis.password, "webdis.password") : text(bridge.credential, "credential");
  const user = webdis ? text(webdis.user, "webdis.user") : undefined;
  const either = (name: keyof BridgeSettings) => flag(bridge[name], name) ?? flag(settings[name], name);
  return [url, secret, user, either("plainHttp"), either("push"), either("keyLocking"), id];
}

function toSettings(settings: ClientSettings & Partial<QuorumOptions>): Value[] {
  for (const name of ["onEvent", "fetch", "waitUntil"] as const) callable(settings[name], name);
  abortSignal(settings.signal, "signal");
  return [
    optionalText(settings.prefix, "prefix"),
    limit(settings.requestTimeout, "requestTimeout", 1),
    count(settings.maxAttempts, "maxAttempts", 1),
    milliseconds(settings.restartQuarantine, "restartQuarantine"),
    milliseconds(settings.fenceLife, "fenceLife"),
  ];
}
