import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const root = fileURLToPath(new URL('.', import.meta.url))

/** Build of the app at `/app/`: files with hashed names, and one page that names them. */
// biome-ignore lint/style/noDefaultExport: Vite asks for it
export default defineConfig({
  root,
  base: '/app/',
  // icons and manifest, with fixed names
  publicDir: 'public',
  // tablets stay in use for years: Safari 16.4, Chrome 111
  build: {
    outDir: fileURLToPath(new URL('../../dist/dashboard', import.meta.url)),
    emptyOutDir: true,
    target: ['safari16.4', 'chrome111', 'firefox114'],
    // the page's policy allows data: for images only
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
