import { createInterface } from 'node:readline'
import WebSocket from 'ws'
import { z } from 'zod'
import { LatencyHistogram } from '#scripts/rig/latency-histogram.ts'
import { type RealtimeEvent, realtimePlanSchema } from './realtime-plan.ts'

/** A process of WebSocket readers: a plan on stdin, `ready`, then after the line `stop` the result. */

const messageSchema = z.object({
  type: z.string(),
  timestamp: z.union([z.string(), z.number()]).optional(),
})

function say(event: RealtimeEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

const delivery = new LatencyHistogram()
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
      delivery.record((nowMs - new Date(message.timestamp).getTime()) * 1000)
    })
    socket.on('close', () => closed++)
    socket.on('error', reject)
  })
}

async function run(line: string): Promise<void> {
  const plan = realtimePlanSchema.parse(JSON.parse(line))
  await Promise.all(Array.from({ length: plan.sockets }, () => open(plan.url)))
  say({ event: 'ready' })
}

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(1))
lines.on('line', (line) => {
  if (line === 'stop') {
    say({ event: 'result', result: { received, closed, delivery: delivery.summary() } })
    return
  }
  run(line).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  })
})
