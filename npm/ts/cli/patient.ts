// The bridge that `doctor` looks at: its client, and what its answers say beside what was asked.
import { type Client, EdgelockError, type FetchInit, type FetchResponse } from "edgelock";
import { type BridgeArguments, connect } from "./bridge.js";

/** One way to the bridge, which counts what is sent on it. */
export interface Connection {
  readonly client: Client;
  /** How many requests were answered, but for those that listen. */
  readonly answered: () => number;
  /** How many requests to listen were granted. */
  readonly listening: () => number;
}

/** Where the bridge is, and what the names begin with that may be locked there. */
export interface PatientArguments extends BridgeArguments {
  readonly prefix?: string | undefined;
}

export class Patient {
  readonly #where: PatientArguments;
  /** The address that the last request went to. */
  address = "";
  #server = "";
  #says = "";

  constructor(where: PatientArguments) {
    this.#where = where;
  }

  connect(): Connection {
    let [answered, listening] = [0, 0];
    const look = async (url: string, init: FetchInit): Promise<FetchResponse> => {
      const listens = init.body === undefined || init.body.startsWith("SUBSCRIBE/");
      const response = await fetch(url, init);
      if (!listens) this.#note(url, response);
      if (!listens) answered++;
      else if (response.status === 200) listening++;
      return response;
    };
    const client = connect(this.#where, { fetch: look, prefix: this.#where.prefix ?? "" });
    return { client, answered: () => answered, listening: () => listening };
  }

  #note(url: string, { headers }: FetchResponse): void {
    this.address = url;
    this.#server = headers.get("server") ?? "";
    this.#says = headers.get("x-edgelock-bridge") ?? "";
  }

  /** What it is, as far as it says so. */
  get kind(): string {
    if (this.#where.webdis !== undefined) return "webdis's dialect";
    if (new URL(this.address).hostname.endsWith(".upstash.io")) return "Upstash";
    return this.#says === "" ? "Upstash's dialect" : `Upstash's dialect, says that it supports: ${this.#says}`;
  }

  /** What to do about an error, by all that is known. */
  advice(error: Error): string | undefined {
    const isOtherDialect = this.#where.webdis === undefined && /^webdis/i.test(this.#server);
    if (isOtherDialect) return "It is a webdis: give its user by --webdis, and the password as EDGELOCK_BRIDGE_CREDENTIAL.";
    return error instanceof EdgelockError ? error.advice : undefined;
  }
}
