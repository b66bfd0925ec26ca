// The glue that wasm-bindgen wrote, as npm/build.js wraps it: each call makes an instance with a glue of its own.
declare module "edgelock-glue" {
  export function instantiate(
    module: WebAssembly.Module,
    guard: (exports: WebAssembly.Exports) => WebAssembly.Exports,
  ): import("./raw.js").Raw;
}
declare module "edgelock-wasm" {
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
