import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerCalls } from '#scripts/rig/calls.ts'
import { recordMs, summarise } from '#scripts/rig/latency.ts'
import { AnswerReader } from './http-answer.ts'

/** Process of the HTTP client. */

/** Requests of one run: each connection sends the next request once the last is answered. */
interface HttpRun {
  port: number
  path: string
  key: string
  acceptEncoding?: string
  connections: number
  warmupS: number
  durationS: number
}

const latency = createHistogram()
const counts = { requests: 0, failures: 0 }
const broken = Promise.withResolvers<never>()

function keepAsking({ port, path, key, acceptEncoding }: HttpRun): Socket {
  const accepted = acceptEncoding === undefined ? '' : `Accept-Encoding: ${acceptEncoding}\r\n`
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-Key: ${key}\r\n${accepted}\r\n`
  const reader = new AnswerReader()
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let sentAtMs = 0
  const ask = () => {
    sentAtMs = performance.now()
    socket.write(request, 'latin1')
  }
  socket.on('connect', ask)
  socket.on('data', (chunk: Buffer) => {
    if (!reader.take(chunk)) return
    recordMs(latency, performance.now() - sentAtMs)
    counts.requests++
    if (reader.status !== 200) counts.failures++
    ask()
  })
  socket.on('error', broken.reject)
  socket.on('close', () => broken.reject(new Error('the server closed the connection')))
  return socket
}

/** Throws when a connection breaks. */
async function run(plan: HttpRun) {
  counts.requests = 0
  const sockets = Array.from({ length: plan.connections }, () => keepAsking(plan))
  await Promise.race([sleep(plan.warmupS * 1000), broken.promise])
  const warmedUpWith = counts.requests
  latency.reset()
  Object.assign(counts, { requests: 0, failures: 0 })
  const startMs = performance.now()
  await Promise.race([sleep(plan.durationS * 1000), broken.promise])
  const durationS = (performance.now() - startMs) / 1000
  // of the whole run, warm-up included: the work that the server's CPU time was spent on
  const answered = warmedUpWith + counts.requests
  const result = { answered, ...counts, durationS, latency: summarise(latency) }
  for (const socket of sockets) socket.removeAllListeners('close').destroy()
  return result
}

const functions = answerCalls({ run })

export type HttpFunctions = typeof functions
