// The bridge that `doctor` looks at: its client, and what its answers say beside what was asked.
import { type Client, EdgelockError, type FetchInit, type FetchResponse } from "edgelock";
import { type BridgeArguments, connect } from "./bridge.js";

/** One way to the bridge, which counts what is sent on it. */
export interface Connection {
  readonly client: Client;
  /** How many requests were answered, but for those that listen. */
  answered: number;
  /** How many requests to listen were granted. */
  listening: number;
}

export class Patient {
  /** The address that the last request went to. */
  address = "";
  #last: FetchResponse | undefined;

  /** The prefix is what the names begin with that may be locked there. */
  constructor(private readonly where: BridgeArguments & { readonly prefix?: string | undefined }) {}

  connect(): Connection {
    const look = async (url: string, init: FetchInit): Promise<FetchResponse> => {
      const listens = init.body === undefined || init.body.startsWith("SUBSCRIBE/");
      const response = await fetch(url, init);
      if (!listens) [this.address, this.#last] = [url, response];
      if (!listens) connection.answered++;
      else if (response.status === 200) connection.listening++;
      return response;
    };
    const connection = { client: connect(this.where, { fetch: look, prefix: this.where.prefix ?? "" }), answered: 0, listening: 0 };
    return connection;
  }

  /** What it is, as far as it says so. */
  get kind(): string {
    if (this.where.webdis !== undefined) return "webdis's dialect";
    if (new URL(this.address).hostname.endsWith(".upstash.io")) return "Upstash";
    const says = this.#last?.headers.get("x-edgelock-bridge");
    return says ? `Upstash's dialect, says that it supports: ${says}` : "Upstash's dialect";
  }

  /** What to do about an error, by all that is known. */
  advice(error: Error): string | undefined {
    const isOtherDialect = this.where.webdis === undefined && /^webdis/i.test(this.#last?.headers.get("server") ?? "");
    if (isOtherDialect) return "It is a webdis: give its user by --webdis, and the password as EDGELOCK_BRIDGE_CREDENTIAL.";
    return error instanceof EdgelockError ? error.advice : undefined;
  }
}
