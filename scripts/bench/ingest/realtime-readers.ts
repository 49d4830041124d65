import { createHistogram } from 'node:perf_hooks'
import WebSocket from 'ws'
import { z } from 'zod'
import { answerCalls } from '#scripts/rig/calls.ts'
import { type LatencySummary, recordMs, summarise } from '#scripts/rig/latency.ts'

/** Process of WebSocket readers. */

/** Totals of all readers. */
export interface RealtimeResult {
  /** Number of `device_data` messages over all sockets. */
  received: number
  /** Sockets the gateway closed. */
  closed: number
  /** From the sample's time to its arrival, in whole milliseconds. */
  delivery: LatencySummary
}

const messageSchema = z.object({
  type: z.string(),
  timestamp: z.union([z.string(), z.number()]).optional(),
})

const delivery = createHistogram()
let received = 0
let closed = 0

function open(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.on('open', () => {
      socket.send(JSON.stringify({ type: 'subscribe', hardwareIds: ['*'] }))
    })
    socket.on('message', (bytes) => {
      const nowMs = Date.now()
      const message = messageSchema.parse(JSON.parse(bytes.toString()))
      if (message.type === 'subscribed') resolve()
      if (message.type !== 'device_data' || message.timestamp === undefined) return
      received++
      recordMs(delivery, nowMs - new Date(message.timestamp).getTime())
    })
    socket.on('close', () => closed++)
    socket.on('error', reject)
  })
}

const functions = answerCalls({
  /** Resolves when every socket is subscribed. */
  subscribe: async (url: string, sockets: number) => {
    await Promise.all(Array.from({ length: sockets }, () => open(url)))
  },
  result: (): RealtimeResult => ({ received, closed, delivery: summarise(delivery) }),
})

export type RealtimeFunctions = typeof functions
