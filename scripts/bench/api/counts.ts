import { ForkedScript } from '#scripts/rig/calls.ts'
import { type Figure, none } from '#scripts/rig/figures.ts'
import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import type { HttpFunctions } from './http-client.ts'
import { makeLongHistory } from './long-history.ts'

const WARMUP_S = 1
const p50: Figure = { what: 'the same: p50', unit: ' ms', digits: 2 }
const p99: Figure = { ...p50, target: ['<', 5] }

/** Measures the cost of counting when there is much to count. */
export const counts = measurement({
  name: 'counts',
  summary: 'statistics over 10.4 million records, one request after the other',
  durationS: [10, 0.2],
  figures: {
    fleetP99: { ...p99, what: 'GET /stats: p99' },
    fleetP50: p50,
    deviceP99: { ...p99, what: 'GET /devices/:id/telemetry/stats: p99' },
    deviceP50: p50,
    failures: none('requests not answered 200'),
  },
  async run(context) {
    const { bench, durationS } = context
    const { folder, devices, records } = await bench.shared(makeLongHistory, context)
    const gateway = await folder.start()
    const counted = await gateway.api.gpsCount()
    if (counted !== 2 * records) throw new Error(`the gateway counts ${counted} GPS records`)
    const client = new ForkedScript<HttpFunctions>(bench, new URL('./http-client.ts', import.meta.url))
    const run = { port: gateway.ports.http, key: ADMIN_KEY, connections: 1, durationS }
    const measure = (path: string) => client.call('run', { ...run, path, warmupS: Math.min(WARMUP_S, durationS) })
    const fleet = await measure('/stats')
    const device = await measure(`/devices/${devices[0]?.hardwareId}/telemetry/stats`)
    await Promise.all([client.stop(), gateway.process.stop()])
    return {
      fleetP99: fleet.latency.p99Ms,
      fleetP50: fleet.latency.p50Ms,
      deviceP99: device.latency.p99Ms,
      deviceP50: device.latency.p50Ms,
      failures: fleet.failures + device.failures,
    }
  },
})
