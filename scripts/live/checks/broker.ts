import type { Check, Finding } from '../bottle.ts'
import { MQTT_PORT } from '../world/gateway-life.ts'
import type { Line } from '../world/lines.ts'
import type { Program } from '../world/program.ts'
import { type Programs, readRetained } from './programs.ts'

/** Time after which the counts are those of the connections. */
const KNOWN_MS = 10_000
/** Time after which a broker knows of a line that is cut: one and a half keepalives. */
const CUT_MS = 180_000
/** Time in which a connection may not have logged in yet. */
const LOGIN_MS = 60_000
const SYS = '$SYS/broker/'

/** Client as the model knows it. */
interface Known {
  readonly name: string
  readonly program: Program
  readonly isKept: boolean
  readonly subscriptions: number
  /** Time since which it is connected; null while it is not. */
  readonly readySinceMs: number | null
  readonly wasConnected: boolean
}

/** Connections as they are. */
interface Truth {
  /** Clients that are connected without a doubt. */
  readonly sure: readonly Known[]
  /** Lines of which the broker may have a connection or not. */
  readonly unsure: readonly Line[]
  readonly clients: readonly Known[]
}

/** Check of the counts of connections. */
export function countCheck(programs: Programs): Check {
  return {
    number: 3,
    claim: '/mqtt/clients, /mqtt/stats, the metrics and $SYS count the connections',
    when: 'look',
    async find(bottle) {
      if (!bottle.life.isRunning || bottle.time.nowMs - bottle.life.startedAtMs < LOGIN_MS) return []
      const truth = readTruth(programs)
      const stats = await bottle.ask('GET', '/mqtt/stats')
      const listed = await bottle.ask('GET', '/mqtt/clients?limit=1000')
      const metrics = await bottle.ask('GET', '/metrics')
      if (stats === null || listed === null || metrics === null) return []
      const shown = shownBy(stats.body, metrics.body)
      const found = [...compareCounts(truth, shown), ...compareClients(truth, listed.body.clients)]
      // it takes some seconds, in which others come and go
      const before = readTruth(programs)
      const { starts } = bottle.life
      const sys = await readRetained(programs, [`${SYS}clients/+`])
      if (sys !== null && bottle.life.starts === starts) found.push(...compareSys(before, sys))
      return found
    },
  }
}

function readTruth({ bottle, clients }: Programs): Truth {
  const { nowMs } = bottle.time
  const carts = bottle.carts.map(
    ({ hardwareId, program, isConnected, linkChangedAtMs, connections }): Known => ({
      name: hardwareId,
      program,
      isKept: true,
      subscriptions: 2,
      readySinceMs: isConnected ? linkChangedAtMs : null,
      wasConnected: connections > 0,
    }),
  )
  const screens = bottle.screens.map(
    ({ hardwareId, program, isConnected, connectedAtMs, connections }): Known => ({
      name: hardwareId,
      program,
      isKept: true,
      subscriptions: 2,
      readySinceMs: isConnected ? connectedAtMs : null,
      wasConnected: connections > 0,
    }),
  )
  const known = clients.map(
    ({ name, program, isKept, filters, readySinceMs, connections }): Known => ({
      name,
      program,
      isKept,
      subscriptions: Object.keys(filters).length,
      readySinceMs,
      wasConnected: connections > 0,
    }),
  )
  const all = [...carts, ...screens, ...known]
  const lines = [...bottle.lines.open].filter(({ port }) => port === MQTT_PORT)
  const own = Map.groupBy(lines, ({ owner }) => owner)
  const isWhole = (line: Line) =>
    line.cutAtMs === null && line.changedAtMs <= nowMs - KNOWN_MS && !line.client.destroyed && !line.server.destroyed
  const sure = all.filter(({ program, readySinceMs }) => {
    const [line, ...others] = own.get(program) ?? []
    return readySinceMs !== null && readySinceMs <= nowMs - KNOWN_MS && others.length === 0 && line && isWhole(line)
  })
  const programsSure = new Set(sure.map(({ program }) => program))
  const unsure = lines.filter((line) => {
    if (line.owner !== undefined && programsSure.has(line.owner)) return false
    const forMs = nowMs - line.changedAtMs
    if (line.cutAtMs !== null) return forMs <= CUT_MS + KNOWN_MS
    // a client that is gone is known; one that has not logged in may wait for that
    return line.endedAtMs === null ? forMs <= LOGIN_MS : nowMs - line.endedAtMs <= KNOWN_MS
  })
  return { sure, unsure, clients: all }
}

interface Shown {
  readonly name: string
  readonly count: number
}

// responses of every shape
// biome-ignore lint/suspicious/noExplicitAny: see above
function shownBy(stats: any, metrics: string) {
  const metric = (name: string) => {
    const line = metrics
      .split('\n')
      .find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{transport="tcp"}`))
    return { name, count: Number(line?.split(' ').at(-1)) }
  }
  return {
    connected: [
      { name: 'logged_in', count: stats.connections.logged_in },
      { name: 'open', count: stats.connections.open },
      { name: 'tcp', count: stats.connections.by_transport.tcp },
      metric('cartbarn_mqtt_clients'),
      metric('cartbarn_mqtt_connections'),
    ],
    maximum: [{ name: 'maximum', count: stats.connections.maximum }, metric('cartbarn_mqtt_clients_maximum')],
    kept: [{ name: 'kept sessions', count: stats.sessions.kept }, metric('cartbarn_mqtt_sessions')],
    away: [{ name: 'away', count: stats.sessions.away }, metric('cartbarn_mqtt_sessions_away')],
    subscriptions: [{ name: 'subscriptions', count: stats.subscriptions }, metric('cartbarn_mqtt_subscriptions')],
  }
}

function between(shown: readonly Shown[], least: number, most: number): Finding[] {
  const wrong = shown.filter(({ count }) => !(count >= least && count <= most))
  return wrong.map(({ name, count }) => ({
    is: `${name} ${count}`,
    expected: least === most ? `${least}` : `${least} to ${most}`,
  }))
}

function compareCounts({ sure, unsure, clients }: Truth, shown: ReturnType<typeof shownBy>): Finding[] {
  const kept = new Set(clients.filter(({ isKept, wasConnected }) => isKept && wasConnected).map(({ name }) => name))
    .size
  const found = [
    ...between(shown.connected, sure.length, sure.length + unsure.length),
    ...between(shown.maximum, sure.length, clients.length + 1),
    ...between(shown.kept, kept, kept + unsure.length),
    ...between(shown.away, 0, kept + unsure.length),
  ]
  if (unsure.length > 0) return found
  const away = kept - sure.filter(({ isKept }) => isKept).length
  const byName = new Map(
    clients
      .filter((one) => (one.isKept ? one.wasConnected : sure.includes(one)))
      .map((one) => [one.name, one] as const),
  )
  const subscriptions = [...byName.values()].reduce((sum, one) => sum + one.subscriptions, 0)
  return [...found, ...between(shown.away, away, away), ...between(shown.subscriptions, subscriptions, subscriptions)]
}

function compareClients(truth: Truth, listed: readonly { client_id: string; connected: boolean }[]): Finding[] {
  const { sure, unsure, clients } = truth
  const connected = listed.filter((one) => one.connected).map((one) => one.client_id)
  const twice = connected.filter((id, i) => connected.indexOf(id) !== i)
  const absent = sure.filter(({ name }) => !connected.includes(name)).map(({ name }) => name)
  const isSurelyAway = (id: string) => {
    const own = clients.filter(({ name }) => name === id)
    return !own.some((one) => sure.includes(one) || unsure.some(({ owner }) => owner === one.program))
  }
  const extra = connected.filter((id) => !id.startsWith('asker') && isSurelyAway(id))
  return [
    ...twice.map((id) => ({ subject: id, is: 'listed twice', expected: 'once' })),
    ...absent.map((id) => ({ subject: id, is: 'not listed as connected', expected: 'connected' })),
    ...extra.map((id) => ({ subject: id, is: 'listed as connected', expected: 'not connected' })),
  ]
}

function compareSys({ sure, unsure }: Truth, sys: ReadonlyMap<string, string>): Finding[] {
  const count = (name: string) => Number(sys.get(`${SYS}clients/${name}`))
  const most = sure.length + unsure.length + 1
  return [
    ...between([{ name: '$SYS clients/connected', count: count('connected') }], sure.length, most + 1),
    ...between([{ name: '$SYS clients/maximum', count: count('maximum') }], sure.length, Number.POSITIVE_INFINITY),
    ...(count('total') === count('connected') + count('disconnected')
      ? []
      : [{ is: `$SYS clients/total ${count('total')}`, expected: 'connected and disconnected' }]),
  ]
}
