// Types of what only a framework or a host has, as far as the recipes use it.
declare module "$env/dynamic/private" {
  export const env: Readonly<Record<string, string | undefined>>;
}

declare module "astro:env/server" {
  export function getSecret(name: string): string | undefined;
}

declare module "next/server" {
  export function after(work: Promise<unknown>): void;
}

declare namespace Deno {
  type Handler = (request: Request) => Promise<Response>;
  let serve: (handler: Handler) => unknown;
}
