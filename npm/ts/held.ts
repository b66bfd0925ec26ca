// A lease as the module has it. Keeps it until nothing calls it any more.
import { drive, type Host, inBackground } from "./driver.js";
import type { Instance } from "./instance.js";
import { released } from "./make-error.js";
import type { RawLease, RawSteps } from "./raw.js";

/** The module's reason for having nothing left to keep. */
const GIVEN_BACK = 0;

/** The module's side of a lease, and what must come before the module forgets it. */
export class Held {
  /** The lock's key in Redis, as errors name it. */
  readonly key: string;
  readonly #instance: Instance;
  readonly #raw: RawLease;
  readonly #host: Host;
  #isGone = false;
  /** The token of a lease that the module no longer has. */
  #lastToken: string | undefined;
  /** How many calls are under way. */
  #calls = 0;
  #givesBack = false;
  #isForgotten = false;

  constructor(key: string, instance: Instance, raw: RawLease, host: Host) {
    this.key = key;
    this.#instance = instance;
    this.#raw = raw;
    this.#host = host;
  }

  /** Given back or handed over: the module no longer has it. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get hasFailed(): boolean {
    return this.#instance.hasFailed;
  }

  get token(): string {
    if (this.#lastToken !== undefined) return this.#lastToken;
    if (this.#isGone) throw released(this.key);
    return this.ask((raw) => raw.token);
  }

  ask<T>(question: (raw: RawLease) => T): T {
    return this.#instance.call(() => question(this.#raw));
  }

  drive<T>(begin: (raw: RawLease) => RawSteps<T>, signal?: AbortSignal): Promise<T> {
    return this.#instance.drive(() => begin(this.#raw), this.#host, [signal], this.key);
  }

  /** Until `call` has ended, the module does not forget it. */
  during<T>(call: () => Promise<T>): Promise<T> {
    return inBackground(this.#during(call), this.#host);
  }

  async #during<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await call();
    } finally {
      this.#calls--;
      this.forget();
    }
  }

  /** The token can be had from now on, though the lease is over. */
  rememberToken(): void {
    this.#lastToken = this.token;
  }

  /** Nothing more is asked of it, and it is given back first if nobody goes on with it. */
  leave(givesBack: boolean): void {
    this.#isGone = true;
    this.#givesBack ||= givesBack;
  }

  /**
   * Nothing calls it any more, so the module need not keep it. Some hosts do not say when
   * JavaScript has forgotten an object.
   */
  forget(): void {
    if (!this.#isGone || this.#calls > 0 || this.#isForgotten || this.hasFailed) return;
    this.#isForgotten = true;
    const steps = this.#givesBack ? this.ask((raw) => raw.giveBack()) : undefined;
    this.ask((raw) => raw.free());
    if (steps === undefined) return;
    const { driver, outcome } = drive(this.#instance, steps, this.#host);
    driver.start();
    void inBackground(outcome, this.#host);
  }

  /**
   * Renews it until `work` has ended, and then gives it back. Without work: renews it until
   * `signal` is aborted. Rejects with the reason if nothing is left to keep.
   */
  async keep(maxHold: number | undefined, work?: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    this.ask((raw) => raw.startKeeping());
    try {
      const until = await this.drive((raw) => raw.beginKeeping(maxHold), signal);
      const why = await this.#keepBeside(until, work?.(), signal);
      if (why === GIVEN_BACK && work === undefined) throw released(this.key);
      await this.drive((raw) => raw.endKeeping(why));
    } finally {
      if (!this.hasFailed) this.ask((raw) => raw.quitKeeping());
    }
  }

  /** The reason why nothing is left to keep, unless the work ended. */
  async #keepBeside(until: number, work: Promise<void> | undefined, signal: AbortSignal | undefined): Promise<number> {
    if (work === undefined) return this.drive((raw) => raw.keep(until), signal);
    const ended = new AbortController();
    const behind = work.then(() => {
      ended.abort();
      return GIVEN_BACK;
    });
    // Work that released the lease or handed it over may still have something to do.
    const kept = this.drive((raw) => raw.keep(until), ended.signal).then((why) => (why === GIVEN_BACK ? behind : why));
    return Promise.race([behind, kept]);
  }
}
