import { none } from '#scripts/rig/figures.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { alternate } from '#scripts/rig/rounds.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { saturate } from '../ingest/saturation-run.ts'
import { startCourse } from './staffed-gateway.ts'

const DEVICES = 500
const SHORT_DEVICES = 20
/** Address that does not respond: a webhook whose deliveries have to wait. */
const NOWHERE = 'http://127.0.0.1:9/'

/** Measures the throughput of a gateway with carts, zones, alerts, auto-lock and webhooks, and of one without. */
export const ingest = measurement({
  name: 'ingest',
  summary: 'full speed with carts, alerts, auto-lock and webhooks, compared with a gateway without',
  rounds: 5,
  durationS: [8, 0.5],
  figures: {
    ratio: { what: 'messages acknowledged, with all : without', digits: 2, target: ['>=', 0.9] },
    perS: { what: 'with all', unit: '/s' },
    cpuUs: { what: 'with all: CPU of the gateway for each', unit: ' us', digits: 2 },
    cpuUsWithout: { what: 'without: CPU of the gateway for each', unit: ' us', digits: 2 },
    p99: { what: 'with all: PUBACK p99', unit: ' ms', digits: 1 },
    notStored: none('messages acknowledged but not stored'),
  },
  async run(context) {
    const { bench, entry, isShort, rounds, durationS } = context
    const count = isShort ? SHORT_DEVICES : DEVICES
    const course = await startCourse(context, count)
    await course.gateway.api.call('POST /webhooks', { body: { url: NOWHERE } })
    await course.gateway.process.stop()
    const bareDir = bench.createFolder('bare')
    const bare = await startGateway(bench, { entry, dataDir: bareDir })
    const bareDevices = await bare.api.registerDevices(count)
    await bare.process.stop()
    const subjects = [
      { dataDir: bareDir, devices: bareDevices, notBeforeMs: 0 },
      { dataDir: course.dataDir, devices: course.devices, notBeforeMs: 0 },
    ]
    const [without = [], withAll = []] = await alternate(rounds, subjects, async (subject) => {
      const { dataDir, devices, notBeforeMs } = subject
      const gateway = await startGateway(bench, { entry, dataDir })
      const storedBefore = await gateway.api.gpsCount()
      const target = { pid: gateway.process.pid, port: gateway.ports.mqtt, devices, durationS, notBeforeMs }
      const run = await saturate(bench, target)
      subject.notBeforeMs = run.totals.newestSampleMs + 1
      const stored = (await gateway.api.gpsCount()) - storedBefore
      await gateway.process.stop()
      printProgress(`  ${formatCount(run.perS)}/s`)
      return { ...run, notStored: Math.max(0, run.totals.acknowledged - stored) }
    })
    return {
      // consecutive runs of a round had the same conditions on the machine
      ratio: withAll.map(({ perS }, i) => perS / (without[i]?.perS ?? 0)),
      perS: withAll.map(({ perS }) => perS),
      cpuUs: withAll.map(({ brokerCpuUs }) => brokerCpuUs),
      cpuUsWithout: without.map(({ brokerCpuUs }) => brokerCpuUs),
      p99: withAll.map(({ sinceWrite }) => sinceWrite.p99Ms),
      notStored: [...without, ...withAll].map(({ notStored }) => notStored),
    }
  },
})
