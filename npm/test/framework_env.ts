// What Next.js, SvelteKit and Astro give to a server's code, by modules that only these frameworks
// have.
export const env = process.env;
export const getSecret = (name: string): string | undefined => process.env[name];
export const after = (_: Promise<unknown>): void => {};
