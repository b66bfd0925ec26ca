import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const { EDGELOCK_BRIDGE_URL, EDGELOCK_BRIDGE_CREDENTIAL } = process.env;

export default defineConfig({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: { bindings: { EDGELOCK_BRIDGE_URL, EDGELOCK_BRIDGE_CREDENTIAL } },
    }),
  ],
});
