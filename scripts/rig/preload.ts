import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Workbench } from './processes.ts'

/** Library to load before all others, or the reason why it is missing. */
export type Preload = { library: string } | { missing: string }

/** Builds a library of C into a folder. */
export function compilePreload(folder: string, source: URL): Preload {
  const library = join(folder, 'preload.so')
  // a fortified libc has inline functions with the names that libraries replace
  const args = ['-shared', '-fPIC', '-O2', '-U_FORTIFY_SOURCE', '-o', library, fileURLToPath(source), '-ldl']
  const { status, error, stderr } = spawnSync('cc', args, { encoding: 'utf8' })
  if (error !== undefined) return { missing: 'cc was not found' }
  return status === 0 ? { library } : { missing: `cc cannot build ${source.pathname}: ${stderr.slice(0, 500)}` }
}

/** Builds the library that slows every fsync and fdatasync by 10 ms; undefined if that is impossible. */
export function compileSlowFsync(bench: Workbench): string | undefined {
  const preload = compilePreload(bench.createFolder('slow-fsync'), new URL('./slow-fsync.c', import.meta.url))
  return 'library' in preload ? preload.library : undefined
}
