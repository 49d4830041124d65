import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Workbench } from './processes.ts'

/** Builds the library that slows every fsync and fdatasync by 10 ms; undefined if `cc` cannot build it. */
export function compileSlowFsync(bench: Workbench): string | undefined {
  const source = fileURLToPath(new URL('./slow-fsync.c', import.meta.url))
  const library = join(bench.createFolder('slow-fsync'), 'slow-fsync.so')
  const { status } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  return status === 0 ? library : undefined
}
