import { connect } from 'mqtt'
import { z } from 'zod'
import { answerCalls } from '#scripts/rig/calls.ts'
import { openStore, type Position, type StorePlan, type SubscriberStore } from './subscriber-store.ts'

/** Process of a simple subscriber that stores: mqtt.js, a persistent session at QoS 1, one transaction each 50 ms. */

const BATCH_MS = 50

const payloadSchema = z.object({
  ts: z.number(),
  lat: z.number(),
  long: z.number(),
  speed: z.number(),
  battery_voltage: z.number(),
  lock_status: z.number(),
})

let store: SubscriberStore | undefined
let waiting: Position[] = []
let writing = Promise.resolve()
let stored = 0

function read(topic: string, payload: Buffer): Position {
  const [, hardwareId = ''] = topic.split('/')
  const { ts, speed, battery_voltage, lock_status, ...place } = payloadSchema.parse(JSON.parse(payload.toString()))
  return {
    hardwareId,
    atMs: ts,
    ...place,
    speedKmh: speed,
    batteryV: battery_voltage,
    lockStatus: lock_status,
  }
}

function take(position: Position): void {
  waiting.push(position)
  if (waiting.length > 1) return
  setTimeout(() => {
    writing = writing.then(storeWaiting)
  }, BATCH_MS)
}

async function storeWaiting(): Promise<void> {
  const batch = waiting
  waiting = []
  await store?.insert(batch)
  stored += batch.length
}

const functions = answerCalls({
  /** Resolves when it is subscribed. */
  start: async (port: number, plan: StorePlan) => {
    store = await openStore(plan)
    const client = connect(`mqtt://127.0.0.1:${port}`, { clientId: 'store', clean: false })
    // messages queued in the session arrive with the connection
    client.on('message', (topic, payload) => take(read(topic, payload)))
    await new Promise<void>((resolve) => client.once('connect', () => resolve()))
    await client.subscribeAsync('dev/+/tlm', { qos: 1 })
  },
  /** Messages stored since its start. */
  stored: () => stored,
  times: (hardwareId: string, fromMs: number, toMs: number) => store?.times(hardwareId, fromMs, toMs) ?? [],
})

export type SubscriberFunctions = typeof functions
