// A lease as the module has it. Keeps it until nothing calls it any more.
import { Driver } from "./driver.js";
import { type Host, inBackground } from "./going-on.js";
import type { Call, Instance } from "./instance.js";
import { released } from "./make-error.js";
import type { Came, RawLease, Thing } from "./raw.js";
import type { Value } from "./words.js";

/** The module's reason if nothing is left to keep. */
const GIVEN_BACK = 0;

/** The module's side of a lease, and what must come before the module forgets it. */
export class Held {
  /** The lock's key in Redis, as errors name it. */
  readonly key: string;
  readonly token: string;
  readonly #instance: Instance;
  readonly #thing: Thing;
  readonly #host: Host;
  #isGone = false;
  /** How many calls are under way. */
  #calls = 0;
  #givesBack = false;
  #isForgotten = false;

  constructor(key: string, instance: Instance, { thing, token }: RawLease, host: Host) {
    this.key = key;
    this.token = token;
    this.#instance = instance;
    this.#thing = thing;
    this.#host = host;
  }

  /** Given back or handed over: the module no longer has it. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get hasFailed(): boolean {
    return this.#instance.hasFailed;
  }

  /** Milliseconds that it surely lasts yet. */
  get remaining(): number {
    return this.#instance.call(() => this.#thing.remaining);
  }

  ask(what: "fence" | "startKeeping" | "quitKeeping" | "handOver"): string {
    return this.#instance.ask(this.#thing, what);
  }

  drive(call: Call, signal?: AbortSignal): Promise<Came> {
    return this.#instance.drive(this.#thing, call, this.#host, [signal], this.key);
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

  /** Nothing more is asked of it. If nobody goes on with it, it is given back first. */
  leave(givesBack: boolean): void {
    this.#isGone = true;
    this.#givesBack ||= givesBack;
  }

  /** Frees it once nothing calls it: some hosts do not say when an object is forgotten. */
  forget(): void {
    if (!this.#isGone || this.#calls > 0 || this.#isForgotten || this.hasFailed) return;
    this.#isForgotten = true;
    const call = this.#givesBack ? this.#instance.make(this.#thing, "giveBack") : undefined;
    this.#instance.call(() => this.#thing.free());
    if (call === undefined) return;
    const driver = new Driver(this.#instance, call, this.#host);
    driver.start();
    void inBackground(driver.outcome, this.#host);
  }

  /**
   * Renews it until `work` has ended, and gives it back; without work, until `signal` is aborted.
   * Rejects with the reason if nothing is left to keep.
   */
  async keep(maxHold: number | undefined, work?: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    this.ask("startKeeping");
    try {
      const until = await this.#number(["beginKeeping", maxHold], signal);
      const why = await this.#keepBeside(until, work?.(), signal);
      if (why === GIVEN_BACK && work === undefined) throw released(this.key);
      await this.drive(["endKeeping", why]);
    } finally {
      if (!this.hasFailed) this.ask("quitKeeping");
    }
  }

  /** The reason why nothing is left to keep, unless the work ended. */
  async #keepBeside(until: number, work: Promise<void> | undefined, signal: AbortSignal | undefined): Promise<number> {
    if (work === undefined) return this.#number(["keep", until], signal);
    const ended = new AbortController();
    const behind = work.then(() => {
      ended.abort();
      return GIVEN_BACK;
    });
    // Work that released the lease or handed it over may still have something to do.
    const kept = this.#number(["keep", until], ended.signal).then((why) => (why === GIVEN_BACK ? behind : why));
    return Promise.race([behind, kept]);
  }

  async #number(call: readonly Value[], signal?: AbortSignal): Promise<number> {
    return (await this.drive(call, signal)).value as number;
  }
}
