import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { sampleFor } from '#scripts/rig/quiet-memory.ts'
import { formatCount, median } from '#scripts/rig/report.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { startSwarm } from './children.ts'

const CLIENTS = 5000
const SHORT_CLIENTS = 1000
const SETTLE_MS = 5000
const SAMPLE_MS = 4500

/** Measures the cost of an idle client. */
export const idle = measurement({
  name: 'idle',
  summary: `${formatCount(CLIENTS)} idle clients: resident memory of each`,
  figures: {
    clean: { what: '1 subscription, clean session', unit: ' KB', target: ['<', 30], digits: 1 },
    kept: { what: '3 subscriptions, kept session', unit: ' KB', digits: 1 },
  },
  async run(context) {
    return {
      clean: await measureKb(context, { leaves: ['cmd'], isClean: true }),
      kept: await measureKb(context, { leaves: ['cmd', 'cfg', 'ta'], isClean: false }),
    }
  },
})

async function measureKb(
  { bench, entry, isShort }: RunContext,
  session: { leaves: string[]; isClean: boolean },
): Promise<number> {
  const options = { entry, dataDir: bench.createFolder('idle') }
  const registering = await startGateway(bench, options)
  const [first, ...others] = await registering.api.registerDevices(isShort ? SHORT_CLIENTS : CLIENTS)
  if (first === undefined) throw new Error('no devices')
  // measured on a new gateway: registering leaves memory in use
  await registering.process.stop()
  const { process, ports } = await startGateway(bench, options)
  const plan = { ...session, port: ports.mqtt, hasWill: false }
  // the first client makes the gateway load code, which is not a cost per client
  await startSwarm(bench, { ...plan, clients: [first] })
  const beforeBytes = await readSettled(process.pid)
  const swarm = await startSwarm(bench, { ...plan, clients: others })
  const connectedBytes = await readSettled(process.pid)
  await swarm.stop()
  await process.stop()
  return (connectedBytes - beforeBytes) / others.length / 1024
}

/** Resident memory once the garbage collector has had time to run. */
async function readSettled(pid: number): Promise<number> {
  await sleep(SETTLE_MS)
  return median(await sampleFor(pid, SAMPLE_MS))
}
