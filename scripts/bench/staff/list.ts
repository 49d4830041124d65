import { ForkedScript } from '#scripts/rig/calls.ts'
import { none } from '#scripts/rig/figures.ts'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { alternate } from '#scripts/rig/rounds.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import type { HttpFunctions } from '../api/http-client.ts'
import type { BareListFunctions } from './bare-list.ts'
import { startCourse } from './course.ts'

const PATH = '/carts'
const CARTS = 500
const SHORT_CARTS = 20
const WARMUP_S = 2
const REPORTING_S = 3
const CONNECTIONS = 10

/** Reads a list of 500 carts, and the same JSON from a server that serialises and compresses it. */
export const list = measurement({
  name: 'list',
  summary: `GET ${PATH} of ${CARTS} carts, compared with a bare server that compresses the same`,
  rounds: 5,
  durationS: [5, 0.2],
  figures: {
    ratio: { what: `GET ${PATH} of ${CARTS} carts, gateway : bare server`, target: ['>=', 0.6], digits: 2 },
    rate: { what: 'the same', unit: '/s' },
    p99: { what: 'the same: p99', unit: ' ms', digits: 1 },
    cpu: { what: 'the same: CPU of the gateway for each', unit: ' us' },
    failures: none('lists not answered 200'),
  },
  async run(context) {
    const { bench, isShort, rounds, durationS } = context
    const warmupS = Math.min(WARMUP_S, durationS)
    const { gateway, devices } = await startCourse(context, isShort ? SHORT_CARTS : CARTS)
    const reporting = { warmupS: 1, durationS: isShort ? 1 : REPORTING_S }
    await startDeviceLoad(bench, gateway, devices, 1, reporting).result()
    const text = JSON.stringify(await gateway.api.call(`GET ${PATH}`))
    const bare = new ForkedScript<BareListFunctions>(bench, 'bare server', new URL('./bare-list.ts', import.meta.url))
    const script = new URL('../api/http-client.ts', import.meta.url)
    const client = new ForkedScript<HttpFunctions>(bench, 'HTTP client', script)
    const subjects = [
      { port: await bare.call('listen', PATH, text), pid: bare.pid },
      { port: gateway.ports.http, pid: gateway.process.pid },
    ]
    const [ofBare = [], own = []] = await alternate(rounds, subjects, async ({ port, pid }) => {
      const beforeS = readCpuSeconds(pid)
      const load = { connections: CONNECTIONS, warmupS, durationS, acceptEncoding: 'gzip' }
      const result = await client.call('run', { port, path: PATH, key: ADMIN_KEY, ...load })
      const cpuUs = ((readCpuSeconds(pid) - beforeS) / result.answered) * 1e6
      const perS = result.requests / result.durationS
      printProgress(`  ${formatCount(perS)}/s`)
      return { perS, cpuUs, p99Ms: result.latency.p99Ms, failures: result.failures }
    })
    await Promise.all([client.stop(), bare.stop(), gateway.process.stop()])
    return {
      ratio: own.map(({ perS }, i) => perS / (ofBare[i]?.perS ?? 0)),
      rate: own.map(({ perS }) => perS),
      p99: own.map(({ p99Ms }) => p99Ms),
      cpu: own.map(({ cpuUs }) => cpuUs),
      failures: [...own, ...ofBare].map(({ failures }) => failures),
    }
  },
})
