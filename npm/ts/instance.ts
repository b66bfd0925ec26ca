/// <reference path="./glue.d.ts" />
// The wasm module at work. Replaces a module that failed.
import { instantiate } from "edgelock-glue";
import { onAbort, type Signals, throwIfAborted } from "./abort.js";
import { Driver } from "./driver.js";
import type { Host } from "./going-on.js";
import { EdgelockError, InternalError } from "./errors.js";
import type { Failure } from "./failure.js";
import { aborted, toError } from "./make-error.js";
import type { Came, Raw, Thing } from "./raw.js";
import { type Value, words } from "./words.js";

/**
 * What a function of a failed instance returns. The glue around it, in its own callback, must find
 * nothing to throw in it.
 */
const NOTHING: readonly never[] = [];

/** A call that these words make of a thing, or this function. */
export type Call = readonly Value[] | ((thing: Thing) => Thing);

let load: (() => WebAssembly.Module) | undefined;
let current: Instance | undefined;

/**
 * Says where the compiled module is to be had: each kind of host has it from elsewhere. `source` is
 * called once, when the module is first needed.
 */
export function use(source: () => WebAssembly.Module): void {
  let module: WebAssembly.Module | undefined;
  load = () => (module ??= source());
}

/** The instance that new objects live in. */
export function instance(): Instance {
  return (current ??= new Instance());
}

/**
 * An instance of the module. After a trap, nobody knows the state of its wasm. So the first trap is
 * the last: all calls under way fail, no other call gets in, and the next object lives in a new
 * instance. A trap inside of a promise would otherwise leave that pending for ever.
 */
export class Instance {
  readonly raw: Raw;
  #failure: InternalError | undefined;
  readonly #driven = new Set<Driver>();

  constructor() {
    if (load === undefined) throw new InternalError("the wasm module is not loaded", undefined);
    try {
      this.raw = instantiate(load(), (exports) => this.#guard(exports));
    } catch (error) {
      throw new InternalError("this host does not run the wasm module", error, "no_wasm");
    }
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Calls into the module. */
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
    const said = words(...values);
    return this.call(() => thing.make(said))!;
  }

  /** What a thing answers to these words at once. */
  ask(thing: Thing, ...values: Value[]): string {
    const said = words(...values);
    return this.call(() => thing.ask(said));
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

  /**
   * The module's functions, none of which throws: the caller checks whether the instance has
   * failed.
   */
  #guard(exports: WebAssembly.Exports): WebAssembly.Exports {
    const guarded: WebAssembly.Exports = {};
    for (const [name, value] of Object.entries(exports)) {
      guarded[name] = typeof value === "function" ? this.#guarded(value) : value;
    }
    return guarded;
  }

  #guarded(enter: Function): Function {
    return (...values: unknown[]) => {
      if (this.#failure) return NOTHING;
      try {
        return enter(...values);
      } catch (error) {
        this.#fail(error);
        return NOTHING;
      }
    };
  }

  #fail(cause: unknown): void {
    this.#failure = new InternalError("edgelock failed inside; what was under way may have been executed", cause);
    if (current === this) current = undefined;
    for (const driver of this.#driven) driver.giveUp(this.#failure);
  }
}

/** Something of the module's that is made anew when the module had to be. */
export class Revivable<T> {
  readonly #make: () => T;
  #made: { readonly instance: Instance; readonly value: T } | undefined;

  constructor(make: () => T, atOnce = true) {
    this.#make = make;
    // Throws at once if the arguments are invalid.
    if (atOnce) this.get();
  }

  get(): { readonly instance: Instance; readonly value: T } {
    const now = instance();
    if (this.#made?.instance !== now) this.#made = { instance: now, value: now.call(this.#make) };
    return this.#made;
  }
}

/** What a client made of a name, other than a lock. */
export interface Named {
  readonly name: string;
  /** Its key in Redis: what errors call it. */
  readonly key: string;
  readonly raw: Revivable<Thing>;
  readonly host: Host;
}

/** What this call of it comes to. */
export function callOf({ key, raw, host }: Named, word: string, signals: Signals): Promise<Came> {
  const { instance, value } = raw.get();
  return instance.drive(value, [word], host, signals, key);
}

/** What the module threw, as an error of ours. */
function translated(thrown: unknown, lock?: string): unknown {
  const isFailure = typeof thrown === "object" && thrown !== null && "isOutcomeUnknown" in thrown && !(thrown instanceof EdgelockError);
  if (!isFailure) return thrown;
  return toError(lock === undefined ? (thrown as Failure) : { lock, ...(thrown as Failure) });
}
