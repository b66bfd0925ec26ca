/// <reference path="./glue.d.ts" />
// Where the table's module is to be had.
import { instantiate } from "edgelock-table-glue";

/** What the module makes. */
export interface Raw {
  readonly Table: new () => RawTable;
}

export interface RawTable {
  execute(now: number, words: string): string;
  listen(channel: string): number;
  hangUp(listener: number): void;
  messages(): string;
}

let load: (() => WebAssembly.Module) | undefined;

/** Says where this host has the module from. `source` is called once, when it is first needed. */
export function use(source: () => WebAssembly.Module): void {
  let module: WebAssembly.Module | undefined;
  load = () => (module ??= source());
}

/** A table with an instance of the module of its own. */
export function rawTable(): RawTable {
  if (load === undefined) throw new Error("the table's wasm module is not loaded");
  const lacking = ["TextDecoder", "TextEncoder"].find((name) => Reflect.get(globalThis, name) === undefined);
  if (lacking !== undefined) throw new Error(`this host has no ${lacking}: set \`globalThis.${lacking}\` before, in Jest's jsdom to that of node:util`);
  return new (instantiate(load(), (exports) => exports).Table)();
}
