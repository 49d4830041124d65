import { Worker, type WorkerOptions } from 'node:worker_threads'
import { isExecutable, readProgramFile } from './program-files.ts'

/** All threads, with the file that each runs. */
export const THREADS = {
  reader: '../gateway/store/readers/worker.ts',
  writer: '../gateway/store/writer/worker.ts',
  upgrade: '../gateway/store/upgrade/worker.ts',
  backup: '../gateway/backup-worker.ts',
  'part-decoder': '../cloud-sync/hub/sync/part-worker.ts',
  'start-watch': './start-watch-worker.ts',
} as const

/** In an executable, what runs the code that the name of its thread says. */
export const LOADER = 'code/loader.cjs'

/** Starts a thread by its name: the one place that knows where the code of threads is. */
export function startThread(name: keyof typeof THREADS, options: WorkerOptions): Worker {
  return isExecutable
    ? new Worker(readProgramFile(LOADER).toString(), { ...options, name, eval: true })
    : new Worker(new URL(THREADS[name], import.meta.url), { ...options, name })
}
