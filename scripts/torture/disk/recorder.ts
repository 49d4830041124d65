import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Workbench } from '#scripts/rig/processes.ts'

/** Library of the recorder, or the reason why it is missing. */
export type DiskRecorder = { library: string } | { missing: string }

/** Builds the recorder's library. Throws if `CI` is set, where an omitted check would pass as a successful one. */
export function compileDiskRecorder(bench: Workbench): DiskRecorder {
  const recorder = process.platform === 'linux' ? compile(bench) : { missing: 'power cuts need Linux' }
  if ('missing' in recorder && process.env.CI) throw new Error(`${recorder.missing}, and CI is set`)
  return recorder
}

function compile(bench: Workbench): DiskRecorder {
  const source = fileURLToPath(new URL('./recorder.c', import.meta.url))
  const library = join(bench.createFolder('recorder'), 'disk-recorder.so')
  // a fortified libc has inline functions with the names that the library replaces
  const args = ['-shared', '-fPIC', '-O2', '-U_FORTIFY_SOURCE', '-o', library, source, '-ldl']
  const { status, error, stderr } = spawnSync('cc', args, { encoding: 'utf8' })
  if (error !== undefined) return { missing: 'power cuts need a C compiler, and cc was not found' }
  return status === 0 ? { library } : { missing: `cc cannot build the recorder: ${stderr.slice(0, 500)}` }
}
