import { createServer } from 'node:http'
import { ALL_LOW_V, NONE_LOW_V } from '#scripts/rig/course.ts'
import { none } from '#scripts/rig/figures.ts'
import type { GatewayApi } from '#scripts/rig/gateway-api.ts'
import { listen } from '#scripts/rig/listen.ts'
import { type LoadPair, measurePair, pairFigures, pairValues } from '#scripts/rig/load/beside.ts'
import { startDeviceLoad } from '#scripts/rig/load/process.ts'
import { printProgress } from '#scripts/rig/report.ts'
import { measurement } from '#scripts/rig/scenario.ts'
import { mustReach, waitUntil } from '#scripts/rig/wait-until.ts'
import { startBarn, startCourse, startTablets } from './staffed-gateway.ts'

const SIZES = { carts: 500, others: 200, receivers: 20, tablets: 4 }
const SHORT = { carts: 20, others: 10, receivers: 4, tablets: 2 }
const LIMIT_MS = 60_000
/** Limit until the batteries count as at rest, which takes one tick. */
const RESTING_LIMIT_MS = 30_000

/** Measures alerts of all carts together (low batteries), while half of the recipients do not respond. */
export const alerts = measurement({
  name: 'alerts',
  summary: `${SIZES.carts} alerts together, ${SIZES.receivers} webhooks and notifiers, half of which hang`,
  rounds: 3,
  durationS: [5, 2],
  figures: {
    slowestMs: { what: 'from its opening to the last tablet, slowest alert', unit: ' ms', target: ['<=', 1000] },
    deliveredS: { what: 'from then until responsive webhooks have all alerts', unit: ' s', digits: 1 },
    undelivered: none('runs in which responsive webhooks waited for hanging ones'),
    ...pairFigures(`${SIZES.others} other devices`, 2),
  },
  async run(context) {
    const { bench, isShort, rounds, durationS } = context
    const sizes = isShort ? SHORT : SIZES
    const { gateway, devices } = await startCourse(context, sizes.carts)
    const { server, received } = await startReceivers(gateway.api, sizes.receivers)
    const barn = await startBarn(bench, gateway, devices)
    const tablets = await startTablets(bench, gateway, sizes.tablets)
    const areResting = async () => {
      await barn.call('report')
      const { carts } = await gateway.api.call('GET /carts')
      return carts.every(({ battery }) => battery?.rest_voltage != null)
    }
    await mustReach(areResting, RESTING_LIMIT_MS, 'batteries are not at rest', 500)
    const others = await gateway.api.registerDevices(sizes.others)
    await tablets.call('allLiveAtMs', sizes.carts, LIMIT_MS)

    const setLow = (lowV: number) => gateway.api.call('PATCH /site', { body: { pack: { low_v: lowV } } })
    const load = () => startDeviceLoad(bench, gateway, others, 1, { warmupS: 1, durationS })
    const open = { query: { state: 'open', kind: 'low_battery', limit: 1 } } as const
    const isOver = async () => (await gateway.api.call('GET /alerts', open)).alerts.length === 0
    const [slowestMs, deliveredS, pairs]: [number[], number[], LoadPair[]] = [[], [], []]
    for (let round = 0; round < rounds; round++) {
      await tablets.call('forgetAlerts')
      for (const path of received.keys()) received.set(path, 0)
      const haveAll = () => [...received.values()].every((times) => times >= sizes.carts)
      const raiseAlerts = async () => {
        await setLow(ALL_LOW_V)
        slowestMs.push((await tablets.call('slowestAlertMs', sizes.carts, LIMIT_MS)) ?? Number.POSITIVE_INFINITY)
        const startedAtMs = performance.now()
        const isDelivered = await waitUntil(haveAll, LIMIT_MS)
        deliveredS.push(isDelivered ? (performance.now() - startedAtMs) / 1000 : Number.POSITIVE_INFINITY)
      }
      pairs.push(await measurePair(load, raiseAlerts))
      printProgress(`  ${slowestMs.at(-1)} ms`)
      await setLow(NONE_LOW_V)
      await mustReach(isOver, LIMIT_MS, 'alerts were not closed', 100)
    }
    await Promise.all([tablets.stop(), barn.stop(), gateway.process.stop()])
    server.close()
    const undelivered = deliveredS.filter((each) => each === Number.POSITIVE_INFINITY).length
    return { slowestMs, deliveredS, undelivered, ...pairValues(pairs) }
  },
})

/** Registers webhooks and notifiers, every second of which never responds; counts requests of webhooks that do. */
async function startReceivers(api: GatewayApi, count: number) {
  const received = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const times = received.get(path)
    if (times !== undefined) received.set(path, times + 1)
    request.resume()
    if (!path.startsWith('/hang/')) request.on('end', () => response.end())
  })
  const port = await listen(server)
  for (let i = 0; i < count; i++) {
    const way = i % 2 === 0 ? 'ok' : 'hang'
    const webhook = `/${way}/webhook-${i}`
    const url = `http://127.0.0.1:${port}`
    await api.call('POST /webhooks', { body: { url: `${url}${webhook}`, kinds: ['low_battery'] } })
    await api.call('POST /notifiers', { body: { channel: 'ntfy', to: `${url}/${way}/notifier-${i}` } })
    if (way === 'ok') received.set(webhook, 0)
  }
  return { server, received }
}
