/// <reference path="./glue.d.ts" />
// The wasm module at work. Replaces a module that failed.
import { instantiate } from "edgelock-glue";
import { type CallOptions, onAbort, signalOf, type Signals, throwIfAborted } from "./abort.js";
import { Driver } from "./driver.js";
import { type Host, inBackground } from "./going-on.js";
import { EdgelockError, InternalError } from "./errors.js";
import type { Failure } from "./failure.js";
import { aborted, toError } from "./make-error.js";
import type { Came, Raw, Thing } from "./raw.js";
import { type Value, words } from "./words.js";

/** What a function of a failed instance returns: the glue around it must have nothing to throw. */
const NOTHING: readonly never[] = [];

/** A call that these words make of a thing, or this function. */
export type Call = readonly Value[] | ((thing: Thing) => Thing);

/** So many things of one maker are kept for requests to come. */
const KEPT = 64;

let load: (() => WebAssembly.Module) | undefined;
let current: Instance | undefined;

/** Says where this host has the module from. `source` is called once, when it is first needed. */
export function use(source: () => WebAssembly.Module): void {
  let module: WebAssembly.Module | undefined;
  load = () => (module ??= source());
}

/** The instance that new objects live in. */
export const instance = (): Instance => (current ??= new Instance());

/**
 * An instance of the module. After a trap, nobody knows the state of its wasm. So the first trap is
 * the last: all calls under way fail, no other call gets in, and the next object lives in a new
 * instance. A trap inside of a promise would otherwise leave that pending for ever.
 */
export class Instance {
  readonly raw: Raw;
  #failure: InternalError | undefined;
  readonly #driven = new Set<Driver>();
  /** What was made, by what made it, and by the words for it. */
  readonly #kept = new WeakMap<object, Map<string, Thing>>();

  constructor() {
    if (load === undefined) throw new InternalError("the wasm module is not loaded", undefined);
    try {
      this.raw = instantiate(load(), (exports) => this.#guard(exports));
    } catch (error) {
      const lacking = ["TextDecoder", "TextEncoder"].find((name) => Reflect.get(globalThis, name) === undefined);
      if (lacking !== undefined) throw new InternalError(`this host has no ${lacking}`, error, "no_text");
      throw new InternalError("this host does not run the wasm module", error, "no_wasm");
    }
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  call<T>(call: () => T): T {
    if (this.#failure) throw this.#failure;
    let result;
    try {
      result = call();
    } catch (error) {
      throw this.#failure ?? (typeof error === "string" ? toError(JSON.parse(error)) : error);
    }
    if (this.#failure) throw this.#failure;
    return result;
  }

  /** What these words make of a thing. */
  make(thing: Thing, ...values: Value[]): Thing {
    return this.call(() => thing.make(words(...values)))!;
  }

  /**
   * What `maker` makes of these words, and made before if it is kept: most requests make the same
   * client and the same lock. Nobody may free it.
   */
  kept(maker: object, said: string, make: () => Thing): Thing {
    const kept = this.#kept.get(maker) ?? new Map<string, Thing>();
    let thing = kept.get(said);
    if (thing === undefined) {
      thing = this.call(make);
      if (kept.size >= KEPT) kept.clear();
      this.#kept.set(maker, kept.set(said, thing));
    }
    return thing;
  }

  /** What a thing answers to these words at once. */
  ask(thing: Thing, ...values: Value[]): string {
    return this.call(() => thing.ask(words(...values)));
  }

  /**
   * Drives a call of a thing to its end, or until one of `signals` is aborted. If it is the call of
   * a `lock`, a failure that does not say which lock it is of names that.
   */
  async drive(thing: Thing, call: Call, host: Host, signals: Signals = [], lock?: string): Promise<Came> {
    throwIfAborted(signals, lock);
    const made = typeof call === "function" ? this.call(() => call(thing)) : this.make(thing, ...call);
    const driver = new Driver(this, made, host);
    const stop = onAbort(signals, () => driver.cancel(signals.find((signal) => signal?.aborted)?.reason));
    this.#driven.add(driver);
    driver.start();
    try {
      return await driver.outcome;
    } catch (error) {
      const isReason = signals.some((signal) => signal?.aborted && signal.reason === error);
      throw isReason ? aborted(error, driver.wasSent, lock) : translated(error, lock);
    } finally {
      stop();
      this.#driven.delete(driver);
    }
  }

  /** The module's functions, none of which throws: callers check whether the instance failed. */
  #guard(exports: WebAssembly.Exports): WebAssembly.Exports {
    const guarded = (enter: Function) => (...values: unknown[]) => {
      if (this.#failure) return NOTHING;
      try {
        return enter(...values);
      } catch (error) {
        this.#fail(error);
        return NOTHING;
      }
    };
    return Object.fromEntries(Object.entries(exports).map(([name, value]) => [name, typeof value === "function" ? guarded(value) : value]));
  }

  #fail(cause: unknown): void {
    this.#failure = new InternalError("edgelock failed inside; what was under way may have been executed", cause);
    if (current === this) current = undefined;
    for (const driver of this.#driven) driver.giveUp(this.#failure);
  }
}

/** Something of the module's that is made anew when the module had to be. */
export class Revivable {
  readonly #make: () => Thing;
  #made: { readonly instance: Instance; readonly value: Thing } | undefined;

  constructor(make: () => Thing, atOnce = true) {
    this.#make = make;
    // Throws at once if the arguments are invalid.
    if (atOnce) this.get();
  }

  get(): { readonly instance: Instance; readonly value: Thing } {
    const now = instance();
    if (this.#made?.instance !== now) this.#made = { instance: now, value: now.call(this.#make) };
    return this.#made;
  }

  /** Frees it in the module: some hosts do not say when JavaScript has forgotten an object. */
  free(): void {
    const made = this.#made;
    this.#made = undefined;
    if (made && !made.instance.hasFailed) made.instance.call(() => made.value.free());
  }
}

/** What a client made of a name that is no lock. */
export interface Named {
  readonly name: string;
  /** Its key in Redis: what errors call it. */
  readonly key: string;
  readonly raw: Revivable;
  readonly host: Host;
}

/** What this call of it comes to. It goes on though its caller is gone. */
export function callOf({ key, raw, host }: Named, word: string, options: CallOptions): Promise<Came> {
  const { instance, value } = raw.get();
  return inBackground(instance.drive(value, [word], host, [signalOf(options)], key), host);
}

/** What the module threw, as an error of ours. */
function translated(thrown: unknown, lock?: string): unknown {
  const isFailure = typeof thrown === "object" && thrown !== null && "isOutcomeUnknown" in thrown && !(thrown instanceof EdgelockError);
  if (!isFailure) return thrown;
  return toError(lock === undefined ? (thrown as Failure) : { lock, ...(thrown as Failure) });
}
