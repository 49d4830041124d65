import { startThread } from './thread.ts'

/** Time for which a start may use next to no processor time before it counts as hung, in ms. */
const IDLE_LIMIT_MS = 120_000

/**
 * Watches the start of a program from a separate thread, which keeps running if the main thread hangs: a start without
 * processor time for `idleMs` is ended with a message on stderr and SIGKILL, so that the service manager restarts it.
 * While the start progresses, the thread extends the timeout of the service manager. It also keeps the event loop
 * alive: otherwise Node blocks while waiting for V8's helper threads, which may wait for the main thread
 * (nodejs/node#54918). Returns a function that ends the watch and may be called twice.
 */
export function watchStartup(idleMs = IDLE_LIMIT_MS): () => Promise<void> {
  const worker = startThread('start-watch', { workerData: { idleMs } })
  return async () => {
    await worker.terminate()
  }
}
