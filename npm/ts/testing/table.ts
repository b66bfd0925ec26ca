// An in-process Redis behind a bridge, for tests.
import { Client, type ClientSettings, type FetchInit, type FetchResponse } from "edgelock";
import { type RawTable, rawTable } from "./source.js";
import { stream } from "./stream.js";

type Words = ReadonlyArray<string | number>;
/** What becomes of a request. */
type Fault = "lose the request" | "lose the reply" | { readonly error: string };

const LISTENS = "/subscribe/";

/**
 * An in-process Redis behind a bridge, which runs the same scripts as the real one. Its clock is
 * `Date.now()`, and the client's is `performance.now()`: fake timers that turn both turn the whole.
 * A command that it does not know is an error that names those that it knows.
 */
export class Table {
  readonly #raw: RawTable = rawTable();
  readonly #faults: Fault[] = [];
  readonly #listeners = new Map<number, (text: string) => void>();
  /** By how much its clock is ahead. */
  #ahead = 0;

  /** A client of this table, unless its `fetch` sends elsewhere. It hears what others release. */
  client(settings: ClientSettings = {}): Client {
    return new Client({ url: "https://table.test", credential: "table", ...settings, fetch: settings.fetch ?? this.fetch });
  }

  /**
   * Turns the table's clock on by so many milliseconds, and not the clients': what ends in that
   * time is gone in Redis, and its holder does not know it yet.
   */
  advance(ms: number): void {
    this.#ahead += ms;
  }

  /** The next request does not arrive. */
  loseNextRequest(): void {
    this.#faults.push("lose the request");
  }

  /** The next request is executed, and its reply does not arrive. */
  loseNextReply(): void {
    this.#faults.push("lose the reply");
  }

  /** The next request is not executed, but gets this error of Redis, such as `LOADING`. */
  failNext(error: string): void {
    this.#faults.push({ error });
  }

  /** A key ends now, as if Redis had lost it: a lock, whose lease does not know it yet. */
  expire(key: string): void {
    this.run("DEL", key);
  }

  /** All keys, in the order of their bytes. */
  keys(): string[] {
    return this.run("KEYS", "*") as string[];
  }

  /** Executes a command, to set a test up or to look at what it did. Throws what Redis refuses. */
  run(...words: ReadonlyArray<string | number>): unknown {
    if (words.some((word) => typeof word !== "string" && typeof word !== "number")) {
      throw new TypeError("each word of a command is a string or a number: a key is its name alone, and an object goes through JSON.stringify");
    }
    const { result, error } = JSON.parse(this.#execute(words)) as { result?: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return result;
  }

  /**
   * Sends a client's requests to this table: the `fetch` of a client that others make, or in place
   * of `globalThis.fetch`, for one that comes of `Client.fromEnv`.
   */
  readonly fetch = async (url: string, init: FetchInit): Promise<FetchResponse> => {
    const { pathname } = new URL(url);
    if (pathname.startsWith(LISTENS)) return this.#listen(decodeURIComponent(pathname.slice(LISTENS.length)), init.signal);
    const fault = this.#faults.shift();
    if (fault === "lose the request") throw new TypeError("the test lost the request");
    const answer = typeof fault === "object" ? JSON.stringify(fault) : this.#answer(pathname, init.body ?? "");
    if (fault === "lose the reply") throw new TypeError("the test lost the reply");
    return response(answer.startsWith(`{"error":`) ? 400 : 200, answer);
  };

  #answer(path: string, body: string): string {
    if (path === "/") return this.#execute(JSON.parse(body) as Words);
    if (path === "/pipeline" || path === "/multi-exec") return `[${(JSON.parse(body) as Words[]).map((words) => this.#execute(words)).join()}]`;
    return `{"error":"ERR the table answers /, /pipeline, /multi-exec and /subscribe"}`;
  }

  #execute(words: Words): string {
    const lines = words.map((word) => `${word}`.replaceAll("\\", "\\\\").replaceAll("\n", "\\n"));
    const answer = this.#raw.execute(Date.now() + this.#ahead, lines.join("\n"));
    const told = JSON.parse(this.#raw.messages()) as Array<number & string>;
    for (let at = 0; at < told.length; at += 2) this.#listeners.get(told[at]!)?.(told[at + 1]!);
    return answer;
  }

  #listen(channel: string, signal: AbortSignal): FetchResponse {
    const listener = this.#raw.listen(channel);
    const { body, tell } = stream(channel, signal, () => {
      this.#raw.hangUp(listener);
      this.#listeners.delete(listener);
    });
    this.#listeners.set(listener, tell);
    return { ...response(200, ""), body };
  }
}

/** Not a `Response`, which some environments of tests do not have. */
function response(status: number, text: string): FetchResponse {
  const headers = new Map([
    ["x-edgelock-bridge", "push"],
    ["content-length", `${text.length}`],
  ]);
  return { status, headers: { get: (name) => headers.get(name) ?? null }, body: null, text: async () => text };
}
