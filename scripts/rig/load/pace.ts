import type { LoadClient } from './client.ts'

/** Schedule of the clients' messages. */
export interface Pace {
  start(): void
  stop(): void
}

/** Sends from clients in rotation, evenly; a message is due at its scheduled time even if it could not be sent then. */
export function createSteadyPace(clients: readonly LoadClient[], perClientPerS: number): Pace {
  const gapMs = 1000 / (clients.length * perClientPerS)
  let timer: NodeJS.Timeout | undefined
  let startMs = 0
  let due = 0

  const sendDue = () => {
    const nowMs = performance.now()
    for (let dueAtMs = startMs + due * gapMs; dueAtMs <= nowMs; dueAtMs = startMs + due * gapMs) {
      clients[due % clients.length]?.publish(1, dueAtMs)
      due++
    }
    const waitMs = startMs + due * gapMs - performance.now()
    timer = setTimeout(sendDue, Math.max(1, Math.ceil(waitMs)))
  }
  return {
    start: () => {
      startMs = performance.now()
      sendDue()
    },
    stop: () => clearTimeout(timer),
  }
}
