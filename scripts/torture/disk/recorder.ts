import { compilePreload, type Preload } from '#scripts/rig/preload.ts'
import type { Workbench } from '#scripts/rig/processes.ts'

/** Builds the recorder's library. Throws if `CI` is set, where an omitted check would pass as a successful one. */
export function compileDiskRecorder(bench: Workbench): Preload {
  const source = new URL('./recorder.c', import.meta.url)
  const isLinux = process.platform === 'linux'
  const recorder = isLinux ? compilePreload(bench.createFolder('recorder'), source) : { missing: 'it needs Linux' }
  if ('missing' in recorder && process.env.CI) throw new Error(`power cuts: ${recorder.missing}, and CI is set`)
  return recorder
}
