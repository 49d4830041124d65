import net from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { answerCalls } from '#scripts/rig/calls.ts'
import { type LatencySummary, recordMs, summarise } from '#scripts/rig/latency.ts'
import { ownCpuSeconds } from '#scripts/rig/process-usage.ts'
import { FrameCounter } from './frame-counter.ts'

/** Process of cheap `/realtime` readers: plain sockets that count frames. */

/** Totals of all readers. */
export interface ReadersResult {
  /** `device_data` messages of the socket with the fewest; `most`: of the one with the most. */
  least: number
  most: number
  /** Total of all sockets. */
  received: number
  /** Sockets the gateway closed. */
  closed: number
  /** From the time of a sample to its arrival, of one frame in 500. */
  delivery: LatencySummary
  /** CPU seconds of this process so far. */
  cpuS: number
}

export interface Reading {
  port: number
  apiKey: string
  sockets: number
  hardwareIds: readonly string[]
}

const JUDGED_OF = 500
const OPENED_AT_ONCE = 50
const HANDSHAKE_END = '\r\n\r\n'
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const NO_MASK = Buffer.alloc(4)
const PONG = Buffer.concat([Buffer.from([0x8a, 0x80]), NO_MASK])

// sockets are read one at a time, and each chunk is consumed before the next read
const readBuffer = Buffer.allocUnsafe(64 * 1024)
const counters: FrameCounter[] = []
const delivery = createHistogram()
let seen = 0
let closed = 0

function judge(bytes: Buffer, at: number, end: number): void {
  if (++seen % JUDGED_OF !== 0) return
  const sampled = /"timestamp":"([^"]+)"/.exec(bytes.toString('latin1', at, end))?.[1]
  if (sampled !== undefined) recordMs(delivery, Date.now() - Date.parse(sampled))
}

/** Resolves when the subscription is answered. */
function open({ port, apiKey, hardwareIds }: Reading): Promise<void> {
  return new Promise((resolve, reject) => {
    let handshake: string | undefined = ''
    const counter = new FrameCounter({ deviceData: judge, ping: () => socket.write(PONG) })
    counters.push(counter)
    const callback = (length: number) => {
      let from = 0
      if (handshake !== undefined) {
        handshake += readBuffer.toString('latin1', 0, length)
        const end = handshake.indexOf(HANDSHAKE_END)
        if (end < 0) return true
        if (!handshake.startsWith('HTTP/1.1 101')) reject(new Error(`not upgraded: ${handshake}`))
        from = length - (handshake.length - end - HANDSHAKE_END.length)
        handshake = undefined
        socket.write(textFrame(JSON.stringify({ type: 'subscribe', hardwareIds })))
      }
      counter.take(readBuffer, from, length)
      // connected, then subscribed
      if (counter.others >= 2) resolve()
      return true
    }
    const socket = net.connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: readBuffer, callback },
    })
    socket.on('connect', () => socket.write(upgradeRequest(port, apiKey)))
    socket.on('error', reject)
    socket.on('close', () => closed++)
  })
}

function upgradeRequest(port: number, apiKey: string): string {
  return [
    'GET /realtime HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    `X-API-Key: ${apiKey}`,
    '',
    '',
  ].join('\r\n')
}

/** Client frame, which has to be masked; 0 is a valid mask. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const header = Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff])
  return Buffer.concat([header, NO_MASK, payload])
}

const functions = answerCalls({
  /** Resolves when every socket is subscribed. */
  subscribe: async (reading: Reading) => {
    for (let opened = 0; opened < reading.sockets; opened += OPENED_AT_ONCE) {
      const count = Math.min(OPENED_AT_ONCE, reading.sockets - opened)
      await Promise.all(Array.from({ length: count }, () => open(reading)))
    }
  },
  result: (): ReadersResult => {
    const counts = counters.map(({ deviceData }) => deviceData)
    return {
      least: Math.min(...counts),
      most: Math.max(...counts),
      received: counts.reduce((sum, count) => sum + count, 0),
      closed,
      delivery: summarise(delivery),
      cpuS: ownCpuSeconds(),
    }
  },
})

export type ReaderFunctions = typeof functions
