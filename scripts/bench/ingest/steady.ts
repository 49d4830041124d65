import { setTimeout as sleep } from 'node:timers/promises'
import { ForkedScript } from '#scripts/rig/calls.ts'
import { none } from '#scripts/rig/figures.ts'
import { ADMIN_KEY, readLoopDelayP99Ms, startGateway } from '#scripts/rig/gateway-process.ts'
import { countLost } from '#scripts/rig/load/beside.ts'
import { checkHistory } from '#scripts/rig/load/history-check.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import type { ReaderFunctions } from '../realtime/readers.ts'

const DEVICES = 200
const SOCKETS = 20
const WARMUP_S = 2
/** Time for the last samples to reach the readers after the last acknowledgement. */
const DELIVERY_MS = 1000

/** Measures a course on a busy day. */
export const steady = measurement({
  name: 'steady',
  summary: `${DEVICES} devices at 1 message a second, ${SOCKETS} realtime sockets`,
  durationS: [300, 20],
  figures: {
    lost: none('messages not acknowledged'),
    missing: none('messages acknowledged and not in the history'),
    duplicates: none('messages twice in the history'),
    undelivered: none('messages not delivered to a socket'),
    p50: { what: 'PUBACK p50, since the message was due', unit: ' ms', digits: 1 },
    p99: { what: 'the same: p99', unit: ' ms', digits: 1 },
    delivery: { what: 'delivery to a socket p99', unit: ' ms', digits: 1 },
    loopDelay: { what: 'delay of the main thread p99', unit: ' ms', digits: 1 },
    cpu: { what: 'CPU of the gateway', unit: ' % of a core' },
  },
  async run({ bench, entry, durationS }) {
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('steady') })
    const { api, ports, process } = gateway
    const clients = await api.registerDevices(DEVICES)
    const readers = new ForkedScript<ReaderFunctions>(bench, new URL('../realtime/readers.ts', import.meta.url))
    await readers.call('subscribe', { port: ports.http, apiKey: ADMIN_KEY, sockets: SOCKETS, hardwareIds: ['*'] })

    const running = startDeviceLoad(bench, gateway, clients, 1, { warmupS: WARMUP_S, durationS, keepsJournal: true })
    await running.measuring()
    await readLoopDelayP99Ms(api)
    const cpuBeforeS = readCpuSeconds(process.pid)
    await running.measured()
    const cpuS = readCpuSeconds(process.pid) - cpuBeforeS
    const loopDelay = await readLoopDelayP99Ms(api)
    const { load, journal } = await running.finish()
    await sleep(DELIVERY_MS)
    const { received, delivery } = await readers.call('result')
    await readers.stop()
    const { missing, duplicates } = await checkHistory(api, journal)
    await process.stop()
    return {
      lost: countLost([load]),
      missing,
      duplicates,
      undelivered: load.acknowledged * SOCKETS - received,
      p50: load.measured.sinceDue.p50Ms,
      p99: load.measured.sinceDue.p99Ms,
      delivery: delivery.p99Ms,
      loopDelay,
      cpu: (cpuS / durationS) * 100,
    }
  },
})
