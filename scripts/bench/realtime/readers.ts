import net from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { answerCalls } from '#scripts/rig/calls.ts'
import { recordMs, summarise } from '#scripts/rig/latency.ts'
import { encodeFrame, Opcode, upgradeRequest } from '#scripts/rig/websocket.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { FrameCounter } from './frame-counter.ts'

/** Process of cheap `/realtime` readers: plain sockets that count frames. */

interface Reading {
  port: number
  apiKey: string
  sockets: number
  hardwareIds: readonly string[]
}

const JUDGED_OF = 500
const OPENED_AT_ONCE = 50
const HANDSHAKE_END = '\r\n\r\n'
/** Masked with 0, which changes nothing. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])

// sockets are read one at a time, and each chunk is consumed before the next read
const buffer = Buffer.allocUnsafe(64 * 1024)
const counters: FrameCounter[] = []
const delivery = createHistogram()
let [seen, closed] = [0, 0]

function judge(bytes: Buffer, at: number, end: number): void {
  if (++seen % JUDGED_OF !== 0) return
  const sampled = /"timestamp":"([^"]+)"/.exec(bytes.toString('latin1', at, end))?.[1]
  if (sampled !== undefined) recordMs(delivery, Date.now() - Date.parse(sampled))
}

/** Resolves when the subscription is answered. */
function open({ port, apiKey, hardwareIds }: Reading): Promise<void> {
  const { promise: subscribed, resolve, reject } = Promise.withResolvers<void>()
  const counter = new FrameCounter({ deviceData: judge, ping: () => socket.write(PONG) })
  counters.push(counter)
  let isUpgraded = false
  const callback = (length: number) => {
    let chunk = buffer.subarray(0, length)
    if (!isUpgraded) {
      // a server writes the response to the handshake in one piece
      const end = chunk.indexOf(HANDSHAKE_END)
      if (end < 0 || !chunk.toString('latin1').startsWith('HTTP/1.1 101')) reject(new Error(`not upgraded: ${chunk}`))
      isUpgraded = true
      chunk = chunk.subarray(end + HANDSHAKE_END.length)
      socket.write(encodeFrame(Opcode.text, Buffer.from(JSON.stringify({ type: 'subscribe', hardwareIds }))))
    }
    counter.take(chunk)
    // connected, then subscribed
    if (counter.others >= 2) resolve()
    return true
  }
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } })
  socket.on('connect', () => socket.write(upgradeRequest('/realtime', { 'X-API-Key': apiKey })))
  socket.on('error', reject)
  socket.on('close', () => closed++)
  return subscribed
}

const functions = answerCalls({
  /** Resolves when every socket is subscribed. */
  subscribe: async (reading: Reading) => {
    await inParallel(Array(reading.sockets).fill(reading), OPENED_AT_ONCE, open)
  },
  /** Messages received and sockets closed so far; `delivery` is the time since the sample, of one frame in 500. */
  result: () => {
    const received = counters.reduce((sum, { deviceData }) => sum + deviceData, 0)
    return { received, closed, delivery: summarise(delivery) }
  },
})

export type ReaderFunctions = typeof functions
