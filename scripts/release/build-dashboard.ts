// node scripts/release/build-dashboard.ts FOLDER SOURCES: builds the app at /app/ into an empty folder. SOURCES
// identifies its sources and is stored in build.json, by which scripts/setup-dashboard.mjs recognises the build; the
// packages in the app are listed next to it.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build, type Plugin } from 'vite'
import { bundledPackages } from './bundled-packages.ts'

const APP = join(import.meta.dirname, '../../gateway/dashboard')
const TEXT = /\.(html|js|css|svg|json|webmanifest|txt)$/
/** Minimum size worth compressing: smaller files hardly save a packet. */
const MIN_BYTES = 1024
/** The maximum, 11, takes fourteen times as long (seconds on a Raspberry Pi) for 8 % less. */
const BROTLI_QUALITY = 9

const [folder, sources] = process.argv.slice(2)
if (folder === undefined || sources === undefined)
  throw new Error('usage: node scripts/release/build-dashboard.ts FOLDER SOURCES')

let packages: string[] = []
const bundled: Plugin = {
  name: 'bundled',
  generateBundle(_options, bundle) {
    packages = bundledPackages(Object.values(bundle).flatMap((one) => (one.type === 'chunk' ? one.moduleIds : [])))
  },
}

await build({
  root: APP,
  configFile: join(APP, 'vite.config.ts'),
  // the other loaders write into node_modules
  configLoader: 'native',
  // files of one machine must not change the bytes
  envDir: false,
  logLevel: 'warn',
  plugins: [bundled],
  build: { outDir: folder, emptyOutDir: true },
})
const texts = filesIn(folder).filter((name) => TEXT.test(name))
await Promise.all(texts.map((name) => compress(join(folder, name))))
const files = Object.fromEntries(filesIn(folder).map((name) => [name, sha256(join(folder, name))]))
writeFileSync(join(folder, 'build.json'), `${JSON.stringify({ sources, packages, files }, null, 1)}\n`)

/** Writes the compressed forms that browsers accept next to a file. */
async function compress(path: string): Promise<void> {
  const text = readFileSync(path)
  if (text.length < MIN_BYTES) return
  const params = {
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
  }
  const [br, gz] = await Promise.all([promisify(brotliCompress)(text, { params }), promisify(gzip)(text, { level: 9 })])
  writeFileSync(`${path}.br`, br)
  writeFileSync(`${path}.gz`, gz)
}

function filesIn(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(path, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
