import type { LoadClient } from './client.ts'

/** Schedule of the clients' messages. */
export interface Pace {
  start(): void
  stop(): void
}

/** Share of its window that must be free before a saturating client writes again. */
const REFILL_SHARE = 1 / 2

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

/** Keeps every client's window full, refilling in portions: one write for many messages. */
export function createSaturatingPace(clients: readonly LoadClient[], window: number): Pace {
  const portion = Math.max(1, Math.floor(window * REFILL_SHARE))
  let isRunning = false
  const refill = (client: LoadClient) => {
    if (isRunning && client.free >= portion) client.publish(portion, performance.now())
  }
  return {
    start: () => {
      isRunning = true
      for (const client of clients) {
        client.onAcknowledged = () => refill(client)
        client.publish(window, performance.now())
      }
    },
    stop: () => {
      isRunning = false
    },
  }
}
