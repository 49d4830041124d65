import { startThread } from './thread.ts'

/** How long a start may use next to no processor time before it counts as hung, in milliseconds. */
const IDLE_LIMIT_MS = 120_000

/**
 * Watches the start of a program from a thread of its own, which goes on when the main thread hangs: a start that uses
 * no processor time for `idleMs` is ended with a sentence on stderr and SIGKILL, so that whatever runs services starts
 * it again. Meanwhile it asks a service manager for time, as long as the start gets on. The thread also keeps the event
 * loop alive: Node waits for V8's helper threads in a blocking way when nothing does, and they may wait for the main
 * thread (nodejs/node#54918). Returns what ends the watch; it may be called twice.
 */
export function watchStartup(idleMs = IDLE_LIMIT_MS): () => Promise<void> {
  const worker = startThread('start-watch', { workerData: { idleMs } })
  return async () => {
    await worker.terminate()
  }
}
