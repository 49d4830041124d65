import { type Figure, none } from '#scripts/rig/figures.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { startBeside } from './beside-bare.ts'

const DEVICES = 500
/** Enough for a full page. */
const SHORT_DEVICES = 110
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
  async run(context) {
    const { bench, entry, isShort } = context
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('requests') })
    const devices = await gateway.api.registerDevices(isShort ? SHORT_DEVICES : DEVICES)
    await startDeviceLoad(bench, gateway, devices, 1, { durationS: REPORTING_S }).result()
    const { api } = gateway
    const device = { path: { id: 'bench-00042' } }
    const beside = await startBeside(context, gateway, [
      { path: LIST.pattern, text: JSON.stringify(await api.call('GET /devices', { query: { limit: 100 } })) },
      { path: LATEST.pattern, text: JSON.stringify(await api.call('GET /devices/{id}/gps/latest', device)) },
    ])
    const [list, latest] = [await beside.measure(LIST.path), await beside.measure(LATEST.path)]
    await beside.stop()
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
