import { setTimeout as sleep } from 'node:timers/promises'
import { none } from '#scripts/rig/figures.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readResidentBytes } from '#scripts/rig/process-usage.ts'
import { formatCount } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'

const DEVICES = 1000
const SHORT_DEVICES = 200
const PER_DEVICE_PER_S = 0.1

/** Measures the memory of a thousand connected devices. */
export const memory = measurement({
  name: 'memory',
  summary: `${formatCount(DEVICES)} connected devices with will and subscriptions, a message every 10 s`,
  durationS: [60, 10],
  figures: {
    started: { what: 'resident memory after the start', unit: ' MB', digits: 1 },
    registered: { what: 'with all devices registered', unit: ' MB', digits: 1 },
    connected: { what: 'with all of them connected', unit: ' MB', digits: 1 },
    sending: { what: 'after a time of messages', unit: ' MB', target: ['<', 200], inShort: true, digits: 1 },
    refused: none('subscriptions refused'),
  },
  async run({ bench, entry, isShort, durationS }) {
    const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('memory') })
    const residentMb = () => readResidentBytes(gateway.process.pid) / 1e6
    const started = residentMb()
    const clients = await gateway.api.registerDevices(isShort ? SHORT_DEVICES : DEVICES)
    const registered = residentMb()
    const load = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S)
    await load.connected()
    const connected = residentMb()
    await sleep(durationS * 1000)
    const sending = residentMb()
    load.stop()
    const { refusedSubscriptions: refused } = await load.result()
    await gateway.process.stop()
    return { started, registered, connected, sending, refused }
  },
})
