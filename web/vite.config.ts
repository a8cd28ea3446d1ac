/** How the pages are built: into the Python package, hashed and compressed, so that the server only hands out files. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const out = join(import.meta.dirname, "../src/agio/gateway/pages/dist");
const server = process.env.AGIO_DEV_SERVER ?? "http://127.0.0.1:8700";

export default defineConfig({
  plugins: [react(), tailwind(), compressed()],
  resolve: {
    alias: {
      "@": join(import.meta.dirname, "src"),
      // Every browser that the pages run in has it.
      "@ungap/structured-clone": join(import.meta.dirname, "src/components/markdown/structured-clone.ts"),
    },
  },
  build: {
    outDir: out,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      output: {
        // What nearly every page needs is one file: dozens of small ones are slower, and larger together.
        codeSplitting: { groups: [{ name: "parts", test: isPart, minShareCount: 4 }] },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/realtime", "/sign-out", "/sign-in/oidc"].map((path) => [path, { target: server, ws: true }]),
    ),
  },
  test: {
    restoreMocks: true,
    pool: "threads",
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: "logic", include: ["src/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "components",
          include: ["src/**/*.test.tsx"],
          environment: "happy-dom",
          setupFiles: ["src/testing/setup.ts"],
        },
      },
    ],
  },
});

/** Whether a module is for every page: forms are not, nor what is behind the door; they load with theirs. */
function isPart(id: string): boolean {
  const apart =
    /react-hook-form|switch|tabs|if-match|overtaken|use-size|password|form-problems|welcome|json-schema/;
  return !apart.test(id) && !/markdown|highlight|katex|micromark|mdast|hast/.test(id);
}

/** Writes each asset a second and a third time, as brotli and gzip, once and at the highest level. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      const folder = join(out, "assets");
      for (const name of readdirSync(folder)) {
        if (!/\.(js|css|svg)$/.test(name)) continue;
        const data = readFileSync(join(folder, name));
        const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(data, quality));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(data, { level: constants.Z_BEST_COMPRESSION }));
      }
    },
  };
}
