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

/** In an executable, what runs the code that the name of its thread says. */
export const THREAD_ENTRY = 'code/loader.cjs'

/** Starts a thread by its name: the one place that knows where the code of threads is. */
export function startThread(name: keyof typeof THREADS, options: WorkerOptions): Worker {
  return isExecutable
    ? new Worker(readProgramFile(THREAD_ENTRY).toString(), { ...options, name, eval: true })
    : new Worker(new URL(THREADS[name], import.meta.url), { ...options, name })
}

/**
 * Lets the other threads of the machine go before this one. Only on Linux, where it counts for the thread that asks. A
 * sandbox may refuse it: the thread then works beside the others, as it must work.
 */
export function lowerThreadPriority(niceness: number): void {
  if (platform() !== 'linux') return
  try {
    // 0 is this thread, not the process
    setPriority(0, niceness)
  } catch {
    // the rests between its jobs have to do
  }
}
