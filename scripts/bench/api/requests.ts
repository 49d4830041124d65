import { ForkedScript } from '#scripts/rig/calls.ts'
import { type Figure, none } from '#scripts/rig/figures.ts'
import { ADMIN_KEY, startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { alternate } from '#scripts/rig/rounds.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import type { BareServerFunctions } from './bare-server.ts'
import type { HttpFunctions } from './http-client.ts'

const DEVICES = 500
/** Enough for a full page. */
const SHORT_DEVICES = 110
const CONNECTIONS = 10
const WARMUP_S = 2
const REPORTING_S = 2
/** Routes with their pattern in Hono's notation. */
const LIST = { path: '/devices?limit=100', pattern: '/devices' }
const LATEST = { path: '/devices/bench-00042/gps/latest', pattern: '/devices/:id/gps/latest' }

const ratio: Figure = { what: 'gateway : bare Hono', target: ['>=', 0.6], digits: 2 }
const rate: Figure = { what: 'the same, gateway', unit: '/s' }
const cpu: Figure = { what: 'the same: CPU of the gateway for each', unit: ' us' }

/** Measures what the gateway adds to the framework it is built on. */
export const requests = measurement({
  name: 'requests',
  summary: 'two reads with 500 devices, compared with a bare Hono server with the same responses',
  rounds: 5,
  durationS: [5, 0.2],
  figures: {
    list: { ...ratio, what: `GET ${LIST.path}, ${ratio.what}` },
    listRate: rate,
    listCpu: cpu,
    latest: { ...ratio, what: `GET ${LATEST.pattern}, ${ratio.what}` },
    latestRate: rate,
    latestCpu: cpu,
    failures: none('requests not answered 200'),
  },
  async run({ bench, entry, isShort, rounds, durationS }) {
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('requests') })
    const devices = await gateway.api.registerDevices(isShort ? SHORT_DEVICES : DEVICES)
    await startDeviceLoad(bench, gateway, devices, 1, { durationS: REPORTING_S }).result()
    const script = new URL('./bare-server.ts', import.meta.url)
    const bare = new ForkedScript<BareServerFunctions>(bench, 'bare Hono', script)
    const answers = [
      { path: LIST.pattern, body: JSON.stringify(await gateway.api.call('GET /devices', { query: { limit: 100 } })) },
      {
        path: LATEST.pattern,
        body: JSON.stringify(await gateway.api.call('GET /devices/{id}/gps/latest', { path: { id: 'bench-00042' } })),
      },
    ]
    const client = new ForkedScript<HttpFunctions>(bench, 'HTTP client', new URL('./http-client.ts', import.meta.url))
    const subjects = [
      { port: await bare.call('listen', answers), pid: bare.pid },
      { port: gateway.ports.http, pid: gateway.process.pid },
    ]
    const measure = async ({ path }: typeof LIST) => {
      const [ofBare = [], own = []] = await alternate(rounds, subjects, async ({ port, pid }) => {
        const beforeS = readCpuSeconds(pid)
        const load = { connections: CONNECTIONS, warmupS: Math.min(WARMUP_S, durationS), durationS }
        const result = await client.call('run', { port, path, key: ADMIN_KEY, ...load })
        const cpuUs = ((readCpuSeconds(pid) - beforeS) / result.answered) * 1e6
        const perS = result.requests / result.durationS
        printProgress(`  ${formatCount(perS)}/s`)
        return { perS, cpuUs, failures: result.failures }
      })
      return {
        ratio: own.map(({ perS }, i) => perS / (ofBare[i]?.perS ?? 0)),
        rate: own.map(({ perS }) => perS),
        cpu: own.map(({ cpuUs }) => cpuUs),
        failures: [...ofBare, ...own].map(({ failures }) => failures),
      }
    }
    const [list, latest] = [await measure(LIST), await measure(LATEST)]
    await Promise.all([client.stop(), bare.stop(), gateway.process.stop()])
    return {
      list: list.ratio,
      listRate: list.rate,
      listCpu: list.cpu,
      latest: latest.ratio,
      latestRate: latest.rate,
      latestCpu: latest.cpu,
      failures: [...list.failures, ...latest.failures],
    }
  },
})
