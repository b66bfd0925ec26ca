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
  return new (instantiate(load(), (exports) => exports).Table)();
}
