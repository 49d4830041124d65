import { readFileSync } from 'node:fs'

/** Memory of a process in bytes: `privateDirty` is used by it alone, and cannot be read again from a file. */
export interface ProcessMemory {
  readonly residentBytes: number
  readonly privateDirtyBytes: number
}

/** Reads it from the kernel. Linux only. */
export function readProcessMemory(pid: number): ProcessMemory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const bytesOf = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? Number.NaN) * 1024
  return { residentBytes: bytesOf('Rss'), privateDirtyBytes: bytesOf('Private_Dirty') }
}
