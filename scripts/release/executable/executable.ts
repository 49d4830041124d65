import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inject } from 'postject'
import { PROGRAM_FILES } from '#shared/program-files.ts'
import { THREAD_ENTRY } from '#shared/thread.ts'
import type { Bundle } from './bundle.ts'
import { checkLoadSegments } from './load-segments.ts'
import { nodeFolder, type System } from './node-binary.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const PGLITE = ['pglite.wasm', 'initdb.wasm', 'pglite.data'].map(
  (name) => `node_modules/@electric-sql/pglite/dist/${name}`,
)

/** Writes the executable of a system: its Node with the program inside. The app must have been built. */
export async function buildExecutable(system: System, bundle: Bundle, target: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'cartbarn-executable-'))
  try {
    mkdirSync(join(work, 'code'))
    const code = [...bundle.chunks].map(([name, text]) => {
      writeFileSync(join(work, 'code', name), text)
      return [`code/${name}`, `code/${name}`]
    })
    const files = filesOf(system).map((path) => [path, join(ROOT, path)])
    const config = {
      // stored in the executable, so it must not be a path of this machine
      main: THREAD_ENTRY,
      output: 'blob',
      disableExperimentalSEAWarning: true,
      // snapshots of another machine would be useless
      useSnapshot: false,
      useCodeCache: false,
      // see scripts/run.mjs
      execArgv: ['--max-semi-space-size=4', '--v8-pool-size=1', '--disable-warning=ExperimentalWarning'],
      assets: Object.fromEntries([...code, ...files].sort(([a = ''], [b = '']) => (a < b ? -1 : 1))),
    }
    writeFileSync(join(work, 'sea.json'), JSON.stringify(config))
    execFileSync(process.execPath, ['--experimental-sea-config', 'sea.json'], { cwd: work, stdio: 'pipe' })
    const draft = join(work, 'cartbarn')
    writeFileSync(draft, readFileSync(join(nodeFolder(system), 'bin/node')))
    await inject(draft, 'NODE_SEA_BLOB', readFileSync(join(work, 'blob')), { sentinelFuse: FUSE })
    const made = readFileSync(draft)
    checkLoadSegments(made, system)
    mkdirSync(dirname(target), { recursive: true })
    rmSync(target, { force: true })
    writeFileSync(target, made)
    chmodSync(target, 0o755)
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Returns the paths of the files that an executable contains in addition to its code. */
function filesOf(system: System): string[] {
  const found = PROGRAM_FILES.flatMap((one) =>
    one.endsWith('/')
      ? globSync(`${one}**/*`, { cwd: ROOT, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
      : [one],
  )
  return [
    ...found,
    ...PGLITE,
    `node_modules/better-sqlite3/prebuilds/${system}.node`,
    `gateway/store/pages/page-sums-${system}.so`,
  ]
}
