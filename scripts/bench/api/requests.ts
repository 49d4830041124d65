import { ForkedScript } from '#scripts/rig/calls.ts'
import { ADMIN_KEY, type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
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
  withoutTarget,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { BareAnswer, BareServerFunctions } from './bare-server.ts'
import type { HttpFunctions, HttpResult } from './http-client.ts'

const DEVICES = 500
/** Enough for a full page. */
const SHORT_DEVICES = 110
const TARGET_RATIO = 0.6
const CONNECTIONS = 10
const WARMUP_S = 2
const SHORT_S = 0.2
const REPORTING_S = 2
const FINISH_LIMIT_MS = 30_000

interface Route {
  name: string
  path: string
  /** Path of the bare server, in Hono's notation. */
  pattern: string
}

const ROUTES: readonly Route[] = [
  { name: 'GET /devices?limit=100', path: '/devices?limit=100', pattern: '/devices' },
  {
    name: 'GET /devices/:id/gps/latest',
    path: '/devices/bench-00042/gps/latest',
    pattern: '/devices/:id/gps/latest',
  },
]

type SubjectName = 'gateway' | 'Hono, ready bytes' | 'Hono, c.json'

interface Subject {
  name: SubjectName
  prefix: string
  port: number
  pid: number
}

interface Run {
  route: string
  subject: SubjectName
  result: HttpResult
  serverCpuS: number
}

/** Measures what the gateway adds to the framework it is built on. */
export async function runRequests(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry, isShort } = context
  const rounds = context.rounds ?? (isShort ? 1 : 5)
  const durationS = context.durationS ?? (isShort ? SHORT_S : 5)
  const warmupS = isShort ? SHORT_S : WARMUP_S
  const devices = isShort ? SHORT_DEVICES : DEVICES
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('requests') })
  await fillFleet(bench, gateway, devices)
  const bareScript = new URL('./bare-server.ts', import.meta.url)
  const bare = new ForkedScript<BareServerFunctions>(bench, 'bare Hono', bareScript)
  const answers = await Promise.all(ROUTES.map((route) => copyAnswer(gateway, route)))
  const bareAt = { port: await bare.call('listen', answers), pid: bare.pid }
  const limitMs = (warmupS + durationS) * 1000 + FINISH_LIMIT_MS
  const clientScript = new URL('./http-client.ts', import.meta.url)
  const client = new ForkedScript<HttpFunctions>(bench, 'HTTP client', clientScript, limitMs)
  const subjects: Subject[] = [
    { name: 'Hono, ready bytes', prefix: '', ...bareAt },
    { name: 'Hono, c.json', prefix: '/json', ...bareAt },
    { name: 'gateway', prefix: '', port: gateway.ports.http, pid: gateway.process.pid },
  ]
  const runs: Run[] = []
  for (const { name, path } of ROUTES) {
    for (let round = 0; round < rounds; round++) {
      for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
        const cpuBefore = readCpuSeconds(subject.pid)
        const result = await client.call('run', {
          port: subject.port,
          path: subject.prefix + path,
          key: ADMIN_KEY,
          connections: CONNECTIONS,
          warmupS,
          durationS,
        })
        runs.push({
          route: name,
          subject: subject.name,
          result,
          serverCpuS: readCpuSeconds(subject.pid) - cpuBefore,
        })
        printProgress(`  ${name}, ${subject.name}: ${formatCount(rateOf(result))}/s`)
      }
    }
  }
  await Promise.all([client.stop(), bare.stop(), gateway.process.stop()])
  print(runs, devices)
  return { figures: createFigures(runs, isShort), raw: { rounds, durationS, connections: CONNECTIONS, runs } }
}

/** Registers the devices and sends a few reports of each. */
async function fillFleet(bench: Workbench, gateway: GatewayProcess, devices: number): Promise<void> {
  const clients = await gateway.api.registerDevices(devices)
  await startDeviceLoad(bench, gateway, clients, 1, { durationS: REPORTING_S }).result()
}

async function copyAnswer({ ports }: GatewayProcess, { path, pattern }: Route): Promise<BareAnswer> {
  const response = await fetch(`http://127.0.0.1:${ports.http}${path}`, {
    headers: { 'X-API-Key': ADMIN_KEY },
  })
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status}`)
  const contentType = response.headers.get('content-type') ?? ''
  return { path: pattern, contentType, body: await response.text() }
}

function rateOf({ requests, durationS }: HttpResult): number {
  return requests / durationS
}

function runsOf(runs: readonly Run[], route: string, subject: SubjectName): Run[] {
  return runs.filter((run) => run.route === route && run.subject === subject)
}

function print(runs: readonly Run[], devices: number): void {
  const rows = ROUTES.flatMap(({ name }) =>
    (['Hono, ready bytes', 'Hono, c.json', 'gateway'] as const).map((subject) => {
      const of = (pick: (run: Run) => number) => median(runsOf(runs, name, subject).map(pick))
      return [
        `${name}, ${subject}`,
        formatCount(of(({ result }) => rateOf(result))),
        formatMs(of(({ result }) => result.latency.p50Ms)),
        formatMs(of(({ result }) => result.latency.p99Ms)),
        `${(of(({ result }) => result.cpuS / result.durationS) * 100).toFixed(0)} %`,
        `${(of(({ result, serverCpuS }) => serverCpuS / result.answered) * 1e6).toFixed(0)}`,
      ]
    }),
  )
  const header = ['medians', 'requests/s', 'p50 ms', 'p99 ms', 'client CPU', 'server µs each']
  printTable(`Requests: ${CONNECTIONS} connections, ${devices} devices`, header, rows)
}

function createFigures(runs: readonly Run[], isShort: boolean): Figure[] {
  const failures = runs.reduce((sum, { result }) => sum + result.failures, 0)
  return [
    ...ROUTES.flatMap(({ name }) => {
      const rate = (subject: SubjectName) => median(runsOf(runs, name, subject).map(({ result }) => rateOf(result)))
      const gateway = rate('gateway')
      return (['Hono, ready bytes', 'Hono, c.json'] as const).map((subject) => {
        const ratio = gateway / rate(subject)
        const figure = `requests: ${name}, gateway : ${subject}`
        const detail = `${formatCount(gateway)} : ${formatCount(rate(subject))}/s`
        if (subject === 'Hono, c.json') return withoutTarget(figure, `${ratio.toFixed(2)} (${detail})`)
        return atLeast(figure, ratio, TARGET_RATIO, { digits: 2, detail, isJudged: !isShort })
      })
    }),
    noneOf('requests: not answered 200', failures),
  ]
}
