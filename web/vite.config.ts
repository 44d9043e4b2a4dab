import { defineConfig, type Plugin } from "vite";

/** litegraph evaluates what is typed into its own number prompt. We never show that prompt; this takes the eval out as well. */
const withoutEval: Plugin = {
  name: "litegraph-without-eval",
  transform(code, id) {
    return id.includes("@comfyorg/litegraph")
      ? code.replace(/\beval\((\w+)\)/g, "Number($1)")
      : null;
  },
};

/** `python -m server serve`, which lets nobody in who says that they come from elsewhere. */
const SERVER = "http://127.0.0.1:8188";

export default defineConfig({
  base: "./",
  plugins: [withoutEval],
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: false,
    chunkSizeWarningLimit: 700,
    rollupOptions: { input: ["index.html", "play.html"] },
    license: { fileName: "licences.md" },
  },
  worker: { format: "es" },
  server: {
    proxy: {
      "/api": { target: SERVER, ws: true, changeOrigin: true, headers: { origin: SERVER } },
    },
  },
});
