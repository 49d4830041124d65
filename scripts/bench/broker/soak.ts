import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { countLost } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { readCpuSeconds, readResidentBytes } from '#scripts/rig/process-usage.ts'
import { formatCount, formatMb, median, noneOf, printProgress, type ScenarioReport } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { startNeighbour } from './children.ts'

const DEVICES = 225
const PER_DEVICE_PER_S = 2
const HOUR_S = 3600
const SHORT_S = 60
const LINE_S = 60
const TARGET_SHARE = 0.05
const LIFE_MARGIN_S = 120

/** Checks that the gateway can run indefinitely. */
export async function runSoak(context: ScenarioContext): Promise<ScenarioReport> {
  const { bench, entry } = context
  const durationS = context.durationS ?? (context.isShort ? SHORT_S : HOUR_S)
  const gateway = await startGateway(bench, { entry, dataDir: bench.createFolder('soak') })
  const { port, pid } = { port: gateway.ports.mqtt, pid: gateway.process.pid }
  const [device, ...clients] = await gateway.api.registerDevices(DEVICES + 1)
  if (device === undefined) throw new Error('no devices')
  const login = await gateway.api.createAdmin('regular')
  const load = startDeviceLoad(bench, gateway, clients, PER_DEVICE_PER_S)
  await load.connected()
  const lifeS = durationS + LIFE_MARGIN_S
  const regulars = await startNeighbour(bench, 'regulars', { port, login, device, lifeS })
  const residentBytes = await watch(pid, durationS)
  load.stop()
  const result = await load.result()
  const companions = await regulars.call('result')
  await regulars.stop()
  await gateway.process.stop()

  const [, second = 0, , last = 0] = quarters(residentBytes).map(median)
  const growth = last / second - 1
  const hasVerdict = durationS > SHORT_S
  const done = Object.entries(companions.counts).map(([name, count]) => `${formatCount(count)} ${name}`)
  printProgress(`  ${formatCount(result.acknowledged)} telemetry acknowledged, ${done.join(', ')}`)
  return {
    figures: [
      {
        name: 'soak: memory of the last quarter against the second',
        target: `within ${TARGET_SHARE * 100} %`,
        reached: `${(growth * 100).toFixed(1)} % (${formatMb(second)} to ${formatMb(last)} MB)`,
        passed: hasVerdict ? Math.abs(growth) <= TARGET_SHARE : null,
      },
      noneOf('soak: not acknowledged', countLost([result])),
    ],
    raw: { durationS, residentBytes, load: result, companions },
  }
}

/** Reads the resident memory each second; prints progress once a minute. */
async function watch(pid: number, durationS: number): Promise<number[]> {
  const samples: number[] = []
  let cpuBefore = readCpuSeconds(pid)
  for (let second = 1; second <= durationS; second++) {
    await sleep(1000)
    samples.push(readResidentBytes(pid))
    if (second % LINE_S !== 0) continue
    const cpuS = readCpuSeconds(pid)
    const share = ((cpuS - cpuBefore) / LINE_S) * 100
    cpuBefore = cpuS
    const residentMb = formatMb(median(samples.slice(-LINE_S)))
    printProgress(`  ${second / LINE_S} min: ${residentMb} MB, ${share.toFixed(0)} % of a core`)
  }
  return samples
}

function quarters(samples: readonly number[]): number[][] {
  const length = Math.floor(samples.length / 4)
  return [0, 1, 2, 3].map((i) => samples.slice(i * length, (i + 1) * length))
}
