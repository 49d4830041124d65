import { basename, join } from 'node:path'
import { build, type Plugin } from 'rolldown'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { THREADS } from '#shared/thread.ts'

const HERE = import.meta.dirname
const ROOT = join(HERE, '../../..')
const SHARED = join(ROOT, 'shared')

/** Code of the program as CommonJS. */
export interface Bundle {
  /** Keyed by name; that of a thread is the thread's name. */
  chunks: ReadonlyMap<string, string>
  /** Paths of its source files. */
  sources: readonly string[]
}

/** Replaces some modules in the executable. */
const replacements: Plugin = {
  name: 'replacements',
  resolveId(name, importer = '') {
    if (name === './binding' && importer.includes('/better-sqlite3/lib/')) return join(HERE, 'sqlite-binding.ts')
    // see gateway/broker/light-mqtt-packet.ts
    if (importer.includes('/node_modules/mqtt-packet/')) {
      if (name === 'debug') return '\0no-debug'
      if (name === 'bl') return join(ROOT, 'node_modules/bl/BufferList.js')
    }
    if (basename(name) === 'light-mqtt-packet.ts') return '\0nothing'
    // zod's messages in fifty languages; English is imported separately
    if (name === '../locales/index.js' && importer.includes('/node_modules/zod/')) return '\0nothing'
    return null
  },
  load(id) {
    if (id === '\0no-debug') return 'module.exports = () => () => undefined'
    return id === '\0nothing' ? '' : null
  },
}

/** Bundles every command and thread. The program accepts releases signed by `releaseKeys`, see `shared/release`. */
export async function bundleProgram(releaseKeys: readonly string[]): Promise<Bundle> {
  const threads = Object.entries(THREADS).map(([name, file]) => [name, join(SHARED, file)])
  const program = await bundle({ cartbarn: ENTRY, ...Object.fromEntries(threads) }, releaseKeys)
  const loader = await bundle({ loader: join(HERE, 'loader.ts') }, [])
  return {
    chunks: new Map([...program.chunks, ...loader.chunks]),
    sources: [...program.sources, ...loader.sources],
  }
}

async function bundle(input: Record<string, string>, releaseKeys: readonly string[]): Promise<Bundle> {
  const { output } = await build({
    input,
    platform: 'node',
    write: false,
    plugins: [replacements],
    transform: { define: { BUILT_RELEASE_KEYS: JSON.stringify(releaseKeys) } },
    onLog(level, log, report) {
      // optional imports of packages that are not installed
      if (log.code !== 'UNRESOLVED_IMPORT') return report(level, log)
    },
    output: {
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name]-[hash].cjs',
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: false } },
      comments: false,
    },
  })
  const chunks = output.filter((one) => one.type === 'chunk')
  return {
    chunks: new Map(chunks.map(({ fileName, code }) => [fileName, inAscii(code)])),
    sources: chunks.flatMap(({ moduleIds }) => moduleIds),
  }
}

/**
 * Escapes characters outside of ASCII, which occur in strings, templates and regular expressions: a single one makes V8
 * store two bytes for each character of a chunk, as long as the program runs.
 */
function inAscii(code: string): string {
  const wide = /[\u0080-\uffff]/g
  const [raw] = /String\.raw`[^`]*[\u0080-\uffff]|\\[\u0080-\uffff]/.exec(code) ?? []
  if (raw !== undefined) throw new Error(`this would mean something else in ASCII: ${raw}`)
  return code.replace(wide, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
