import { ForkedScript } from '#scripts/rig/calls.ts'
import { none } from '#scripts/rig/figures.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { countLost } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { sampleFor } from '#scripts/rig/quiet-memory.ts'
import { median, printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import type { RegularFunctions } from './regulars.ts'

const DEVICES = 225
const PER_DEVICE_PER_S = 2
/** Minutes of an hour, each of which yields one size of the memory. */
const MINUTES = 60

/** Checks that the gateway can run indefinitely. */
export const soak = measurement({
  name: 'soak',
  summary: '500 messages a second of every kind for an hour: memory must not grow',
  durationS: [3600, 60],
  figures: {
    change: { what: 'memory of the last quarter, change from the second', unit: ' %', target: ['<=', 5], digits: 1 },
    second: { what: 'resident memory in the second quarter', unit: ' MB', digits: 1 },
    last: { what: 'the same in the last', unit: ' MB', digits: 1 },
    cpu: { what: 'CPU', unit: ' % of a core' },
    acknowledged: { what: 'messages of devices acknowledged' },
    lost: none('messages of devices lost'),
  },
  async run({ bench, entry, durationS }) {
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('soak') })
    const { pid } = gateway.process
    const clients = await gateway.api.registerDevices(DEVICES)
    const login = await gateway.api.createAdmin('regular')
    const running = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S)
    await running.connected()
    const regulars = new ForkedScript<RegularFunctions>(bench, new URL('./regulars.ts', import.meta.url))
    await regulars.call('start', gateway.ports.mqtt, login)
    const cpuBeforeS = readCpuSeconds(pid)
    const residentMb: number[] = []
    for (let minute = 0; minute < MINUTES; minute++) {
      residentMb.push(median(await sampleFor(pid, (durationS / MINUTES) * 1000)) / 1e6)
      printProgress(`  ${residentMb.at(-1)?.toFixed(1)} MB`)
    }
    const cpuS = readCpuSeconds(pid) - cpuBeforeS
    running.stop()
    const load = await running.result()
    await regulars.stop()
    await gateway.process.stop()
    const quarter = MINUTES / 4
    const [second, last] = [residentMb.slice(quarter, 2 * quarter), residentMb.slice(-quarter)]
    return {
      change: Math.abs(median(last) / median(second) - 1) * 100,
      second,
      last,
      cpu: (cpuS / durationS) * 100,
      acknowledged: load.acknowledged,
      lost: countLost([load]),
    }
  },
})
