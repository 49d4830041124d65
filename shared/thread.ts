import { platform, setPriority } from 'node:os'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { isExecutable, readProgramFile } from './program-files.ts'

/** All threads, with the file that each runs. */
export const THREADS = {
  reader: '../gateway/store/readers/worker.ts',
  writer: '../gateway/store/writer/worker.ts',
  upgrade: '../gateway/store/upgrade/worker.ts',
  backup: '../gateway/offline/backup-worker.ts',
  'part-decoder': '../cloud-sync/hub/sync/part-worker.ts',
  'start-watch': './start-watch-worker.ts',
} as const

/** Entry point of all threads in an executable; runs the code that the thread name selects. */
export const THREAD_ENTRY = 'code/loader.cjs'

/** Starts a thread by its name; the only place that knows the location of thread code. */
export function startThread(name: keyof typeof THREADS, options: WorkerOptions): Worker {
  return isExecutable
    ? new Worker(readProgramFile(THREAD_ENTRY).toString(), { ...options, name, eval: true })
    : new Worker(new URL(THREADS[name], import.meta.url), { ...options, name })
}

/**
 * Lowers the priority of the calling thread, so that other threads of the computer run first. Linux only, where
 * priorities are per thread. A sandbox may forbid it; the thread then runs at the normal priority.
 */
export function lowerThreadPriority(niceness: number): void {
  if (platform() !== 'linux') return
  try {
    // 0 is this thread, not the process
    setPriority(0, niceness)
  } catch {
    // the pauses between its jobs must suffice
  }
}
