import { ForkedScript } from '#scripts/rig/calls.ts'
import { ADMIN_KEY, startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import {
  atLeast,
  type Figure,
  formatCount,
  formatMs,
  median,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { openCourse, registerCarts } from '#scripts/rig/staff-course.ts'
import type { HttpFunctions, HttpResult } from '../api/http-client.ts'
import type { BareListFunctions } from './bare-list.ts'

const PATH = '/carts'
const CARTS = 500
const SHORT_CARTS = 20
const ROUNDS = 5
const DURATION_S = 5
const WARMUP_S = 2
const SHORT_S = 0.2
const REPORTING_S = 3
const CONNECTIONS = 10
const TARGET_RATIO = 0.6
const FINISH_LIMIT_MS = 30_000

interface Run {
  subject: string
  result: HttpResult
  serverCpuS: number
}

/** Measures a list of 500 carts, compared with a server that serialises and compresses the same JSON. */
export async function runList(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : ROUNDS)
  const durationS = context.durationS ?? (isShort ? SHORT_S : DURATION_S)
  const warmupS = isShort ? SHORT_S : WARMUP_S
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('list') })
  await openCourse(gateway)
  const count = isShort ? SHORT_CARTS : CARTS
  const devices = await registerCarts(gateway, { count, deviceType: 'teebox', id: 'cart' })
  const options = { warmupS: 1, durationS: isShort ? 1 : REPORTING_S }
  await startDeviceLoad(bench, gateway, devices, 1, options).result()
  const text = await readList(gateway.ports.http)
  const script = new URL('./bare-list.ts', import.meta.url)
  const bare = new ForkedScript<BareListFunctions>(bench, 'bare server', script)
  const clientScript = new URL('../api/http-client.ts', import.meta.url)
  const limitMs = (warmupS + durationS) * 1000 + FINISH_LIMIT_MS
  const client = new ForkedScript<HttpFunctions>(bench, 'HTTP client', clientScript, limitMs)
  const subjects = [
    { name: 'bare', port: await bare.call('listen', PATH, text), pid: bare.pid },
    { name: 'gateway', port: gateway.ports.http, pid: gateway.process.pid },
  ]
  const runs: Run[] = []
  for (let round = 0; round < rounds; round++) {
    for (const { name, port, pid } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const cpuBeforeS = readCpuSeconds(pid)
      const result = await client.call('run', {
        port,
        path: PATH,
        key: ADMIN_KEY,
        connections: CONNECTIONS,
        warmupS,
        durationS,
        acceptEncoding: 'gzip',
      })
      runs.push({ subject: name, result, serverCpuS: readCpuSeconds(pid) - cpuBeforeS })
      printProgress(`  ${name}: ${formatCount(rateOf(result))}/s of ${formatCount(bytesOf(result))} bytes`)
    }
  }
  await Promise.all([client.stop(), bare.stop(), gateway.process.stop()])
  print(runs, count)
  return { figures: createFigures(runs, !isShort), raw: { rounds, durationS, runs } }
}

async function readList(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${PATH}`, { headers: { 'X-API-Key': ADMIN_KEY } })
  if (response.status !== 200) throw new Error(`GET ${PATH}: ${response.status}`)
  return response.text()
}

function rateOf({ requests, durationS }: HttpResult): number {
  return requests / durationS
}

function bytesOf({ bytes, requests }: HttpResult): number {
  return bytes / Math.max(1, requests)
}

function of(runs: readonly Run[], subject: string, pick: (run: Run) => number): number {
  return median(runs.filter((run) => run.subject === subject).map(pick))
}

function print(runs: readonly Run[], count: number): void {
  const rows = ['bare', 'gateway'].map((subject) => [
    subject,
    formatCount(of(runs, subject, ({ result }) => rateOf(result))),
    formatCount(of(runs, subject, ({ result }) => bytesOf(result))),
    formatMs(of(runs, subject, ({ result }) => result.latency.p99Ms)),
    formatCount(of(runs, subject, ({ result, serverCpuS }) => (serverCpuS / result.answered) * 1e6)),
  ])
  const header = ['medians', 'requests/s', 'bytes', 'p99 ms', 'server us each']
  printTable(`GET ${PATH} of ${count} carts, ${CONNECTIONS} connections`, header, rows)
}

function createFigures(runs: readonly Run[], isJudged: boolean): Figure[] {
  const rate = (subject: string) => of(runs, subject, ({ result }) => rateOf(result))
  const [gateway, bare] = [rate('gateway'), rate('bare')]
  const detail = `${formatCount(gateway)} : ${formatCount(bare)}/s`
  return [
    atLeast(`staff: GET ${PATH}, gateway : bare server`, gateway / bare, TARGET_RATIO, {
      digits: 2,
      detail,
      isJudged,
    }),
    noneOf(
      'staff: lists not answered 200',
      runs.reduce((sum, { result }) => sum + result.failures, 0),
    ),
  ]
}
