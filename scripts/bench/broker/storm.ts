import { setTimeout as sleep } from 'node:timers/promises'
import { connectAsync, type MqttClient } from 'mqtt'
import { type Figure, none } from '#scripts/rig/figures.ts'
import { startGateway } from '#scripts/rig/gateway-process.ts'
import { compileSlowFsync } from '#scripts/rig/preload.ts'
import { readCpuSeconds } from '#scripts/rig/process-usage.ts'
import { formatCount, printProgress } from '#scripts/rig/report.ts'
import { measurement, type RunContext } from '#scripts/rig/scenario.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { startSwarm } from './children.ts'

const CLIENTS = 2000
const SHORT_CLIENTS = 500
const RETAINED = 2000
const PAUSE_MS = 2000
const WILLS_LIMIT_MS = 10_000
/** Retained messages arrive in sequence; this long after the last one, no more are expected. */
const QUIET_MS = 1000

const all: Figure = { what: 'until all are back', unit: ' ms', target: ['<', 3000] }
const retained = `${formatCount(RETAINED)} retained messages`

/** Measures the return of power to a whole course. */
export const storm = measurement({
  name: 'storm',
  summary: `${formatCount(CLIENTS)} kept sessions with last wills are cut and reconnect, all together`,
  rounds: 5,
  figures: {
    reconnect: { ...all, what: `reconnect: ${all.what}` },
    resubscribe: { ...all, what: `reconnect and subscribe: ${all.what}` },
    retainedReconnect: { ...all, what: `reconnect with ${retained}: ${all.what}` },
    retainedResubscribe: { ...all, what: `reconnect and subscribe with ${retained}: ${all.what}` },
    slowReconnect: { ...all, what: `reconnect with these and 10 ms fsyncs: ${all.what}` },
    slowResubscribe: { ...all, what: `reconnect and subscribe with these and 10 ms fsyncs: ${all.what}` },
    cpu: { what: 'CPU of the gateway for one of these', unit: ' s', digits: 2 },
    withoutSession: none('clients without their session'),
    refused: none('subscriptions refused'),
    withoutWill: none('last wills not retained'),
  },
  async run(context) {
    const preload = compileSlowFsync(context.bench)
    const empty = await measure(context, 0)
    const full = await measure(context, RETAINED)
    const slow = preload === undefined ? [] : await measure(context, RETAINED, preload)
    const storms = [...empty, ...full, ...slow]
    const times = (those: typeof storms, kind: string) =>
      those.filter((each) => each.kind === kind).map(({ durationMs }) => durationMs)
    return {
      reconnect: times(empty, 'reconnect'),
      resubscribe: times(empty, 'resubscribe'),
      retainedReconnect: times(full, 'reconnect'),
      retainedResubscribe: times(full, 'resubscribe'),
      slowReconnect: times(slow, 'reconnect'),
      slowResubscribe: times(slow, 'resubscribe'),
      cpu: storms.map(({ cpuS }) => cpuS),
      withoutSession: storms.map(({ withoutSession }) => withoutSession),
      refused: storms.map(({ refusedSubscriptions }) => refusedSubscriptions),
      withoutWill: storms.map(({ withoutWill }) => withoutWill),
    }
  },
})

async function measure({ bench, entry, isShort, rounds }: RunContext, retainedCount: number, preload?: string) {
  const clients = isShort ? SHORT_CLIENTS : CLIENTS
  const dataDir = bench.createFolder('storm')
  const registering = await startGateway(bench, { entry, dataDir })
  const devices = await registering.api.registerDevices(clients)
  const admin = await registering.api.createAdmin('storm')
  await registering.process.stop()

  const { process, ports } = await startGateway(bench, { entry, dataDir, preload })
  const program = await connectAsync(`mqtt://127.0.0.1:${ports.mqtt}`, { ...admin })
  const items = Array.from({ length: retainedCount }, (_, i) => `shop/items/${i}`)
  await Promise.all(items.map((topic) => program.publishAsync(topic, 'x'.repeat(100), { qos: 1, retain: true })))
  const leaves = ['cmd', 'cfg', 'ta']
  const swarm = await startSwarm(bench, { port: ports.mqtt, leaves, isClean: false, hasWill: true, clients: devices })
  const storms = []
  for (let round = 0; round < rounds; round++) {
    for (const kind of ['reconnect', 'resubscribe'] as const) {
      await sleep(PAUSE_MS)
      const cpuBeforeS = readCpuSeconds(process.pid)
      const { will, ...result } = await swarm.call('storm', kind)
      const cpuS = readCpuSeconds(process.pid) - cpuBeforeS
      const haveWills = async () => (await countWills(program, will)) >= clients
      const areComplete = await waitUntil(haveWills, WILLS_LIMIT_MS, PAUSE_MS)
      const withoutWill = areComplete ? 0 : clients - (await countWills(program, will))
      printProgress(`  ${retainedCount} retained, ${kind}: ${formatCount(result.durationMs)} ms`)
      storms.push({ kind, ...result, cpuS, withoutWill })
    }
  }
  await program.endAsync()
  await swarm.stop()
  await process.stop()
  return storms
}

/** Number of devices with exactly that last will retained. */
async function countWills(program: MqttClient, will: string): Promise<number> {
  let [count, lastAtMs] = [0, performance.now()]
  const take = (_topic: string, payload: Buffer) => {
    if (payload.toString() === will) count++
    lastAtMs = performance.now()
  }
  program.on('message', take)
  await program.subscribeAsync('dev/+/st', { qos: 0 })
  await waitUntil(() => performance.now() - lastAtMs > QUIET_MS, WILLS_LIMIT_MS)
  await program.unsubscribeAsync('dev/+/st')
  program.off('message', take)
  return count
}
