import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { LatencyHistogram } from '#scripts/rig/latency-histogram.ts'
import { AnswerReader } from './http-answer.ts'
import { type HttpResult, type HttpRun, httpRunSchema } from './http-plan.ts'

/** The process of the HTTP client: runs on stdin, their results on stdout, ends when its parent does. */

const latency = new LatencyHistogram()
const counts = { requests: 0, failures: 0, bytes: 0 }

/** Sends the next request once the last is answered; a broken connection ends the process. */
function keepAsking({ port, path, key }: HttpRun): Socket {
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-Key: ${key}\r\n\r\n`
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
    latency.record((performance.now() - sentAtMs) * 1000)
    counts.requests++
    counts.bytes += reader.bytes
    if (reader.status !== 200) counts.failures++
    ask()
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return socket
}

async function run(plan: HttpRun): Promise<HttpResult> {
  counts.requests = 0
  const sockets = Array.from({ length: plan.connections }, () => keepAsking(plan))
  await sleep(plan.warmupS * 1000)
  const warmedUpWith = counts.requests
  latency.reset()
  Object.assign(counts, { requests: 0, failures: 0, bytes: 0 })
  const [cpuBefore, startMs] = [process.cpuUsage(), performance.now()]
  await sleep(plan.durationS * 1000)
  const durationS = (performance.now() - startMs) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  const answered = warmedUpWith + counts.requests
  const result = { answered, ...counts, durationS, cpuS: (user + system) / 1e6, latency: latency.summary() }
  for (const socket of sockets) socket.removeAllListeners('close').destroy()
  return result
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(0))
lines.on('line', (line) => {
  run(httpRunSchema.parse(JSON.parse(line))).then(
    (result) => process.stdout.write(`${JSON.stringify(result)}\n`),
    fail,
  )
})
