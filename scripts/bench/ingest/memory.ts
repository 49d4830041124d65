import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readResidentBytes } from '#scripts/rig/process-usage.ts'
import {
  below,
  formatCount,
  formatMb,
  noneOf,
  printProgress,
  printTable,
  type ScenarioReport,
} from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'

const PER_DEVICE_PER_S = 0.1
const TARGET_MB = 200
const SAMPLES = 6

/** Measures the memory of a thousand connected devices. */
export async function runMemory(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry } = context
  const devices = context.isShort ? 200 : 1000
  const durationS = context.durationS ?? (context.isShort ? 10 : 60)
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('memory') })
  const { pid } = gateway.process
  const atStart = readResidentBytes(pid)
  const clients = await gateway.api.registerDevices(devices)
  const registered = readResidentBytes(pid)
  const load = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S)
  await load.connected()
  const connected = readResidentBytes(pid)

  printProgress(`  measuring for ${durationS} s`)
  const samples: number[] = []
  for (let i = 0; i < SAMPLES; i++) {
    await sleep((durationS / SAMPLES) * 1000)
    samples.push(readResidentBytes(pid))
  }
  load.stop()
  const result = await load.result()
  await gateway.process.stop()

  const last = samples.at(-1) ?? 0
  printTable(
    `Memory: ${formatCount(devices)} devices connected`,
    ['resident MB', 'MB'],
    [
      ['started', formatMb(atStart)],
      ['devices registered', formatMb(registered)],
      ['all connected', formatMb(connected)],
      [`after ${durationS} s of messages`, formatMb(last)],
    ],
  )
  return {
    figures: [
      below(`memory: resident with ${formatCount(devices)} devices`, last / 1e6, TARGET_MB, { unit: ' MB' }),
      noneOf('memory: refused subscriptions', result.refusedSubscriptions),
    ],
    raw: { devices, durationS, atStart, registered, connected, samples, load: result },
  }
}
