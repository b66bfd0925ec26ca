// Variables as SvelteKit and Astro give them to a server's code, in modules that only they have.
export const env = process.env;
export const getSecret = (name: string): string | undefined => process.env[name];
