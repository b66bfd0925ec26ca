// The glue that wasm-bindgen wrote, as npm/build.js wraps it. Each call makes an instance with its
// own glue.
declare module "edgelock-glue" {
  export function instantiate(
    module: WebAssembly.Module,
    guard: (exports: WebAssembly.Exports) => WebAssembly.Exports,
  ): import("./raw.js").Raw;
}
// src/web/exchange.js, which Rust Workers use too.
declare module "edgelock-exchange" {
  export type Done = (failure: number, status: number, header: string | undefined, text: string, thrown: unknown) => void;
  type Send = ((url: string, init: never) => unknown) | undefined;
  export class Exchange {
    constructor(send: Send, url: string, headers: object, body: string, bodyLimit: number, timeout: number, done: Done);
    abort(): void;
  }
  /** The messages of an error and of its causes. */
  export function reason(error: unknown): string;
  /** A promise that another request may settle. */
  export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void };
  export class Stream {
    constructor(send: Send, url: string, headers: object, body: string, timeout: number, hear: (piece: Uint8Array) => void, done: Done);
    abort(): void;
  }
}
declare module "edgelock-wasm" {
  /** The name of a section that only this build of the module has. */
  export const build: string;
  const base64: string;
  export default base64;
}
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
declare module "*.wasm?module" {
  const module: WebAssembly.Module;
  export default module;
}
