import { Worker, type WorkerOptions } from 'node:worker_threads'

const FILES = {
  reader: '../gateway/store/readers/worker.ts',
  writer: '../gateway/store/writer/worker.ts',
  'part-decoder': '../cloud-sync/hub/sync/part-worker.ts',
  'start-watch': './start-watch-worker.ts',
} as const

/** Starts a thread by its name: the one place that knows where the code of threads is. */
export function startThread(name: keyof typeof FILES, options: WorkerOptions): Worker {
  return new Worker(new URL(FILES[name], import.meta.url), options)
}
