import { connect, type MqttClient } from 'mqtt'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { toIso } from '#shared/time.ts'
import { type FullFolders, programOptions } from './folders.ts'

/** Response: a JSON text without volatile fields, or the reason why it is missing. */
export interface Answer {
  status: number
  text: string
  /** True if the response reports that something may be missing. */
  isWarned?: boolean
}

/** Responses by question. */
export type Answers = ReadonlyMap<string, Answer>

/** Fewer than the parallel downloads permitted per user. */
const AT_ONCE = 3
/** Silence after which no more messages are expected. */
const QUIET_MS = 250
const REQUEST_LIMIT_MS = 20_000
/** Volatile fields. Of users: usage, which the torture itself changes. Of devices and details: their connection. */
const VOLATILE = /^(usage|timestamp|is_online|mqtt|instance|request_id|updated_at|last_responded_at)$/

/** Sends a gateway every request that a course can answer. Never throws. */
export async function askEverything(gateway: GatewayProcess, full: FullFolders): Promise<Answers> {
  const answers = new Map<string, Answer>()
  await inParallel(questionsOf(full), AT_ONCE, async ({ path, key, name }) => {
    answers.set(name, await ask(`http://127.0.0.1:${gateway.ports.http}${path}`, key))
  })
  const received = await listen(gateway, full)
  answers.set('retained messages', received.retained)
  answers.set('messages that waited', received.waiting)
  return answers
}

interface Question {
  name: string
  path: string
  key: string
}

function questionsOf({ devices, users, groupIds, fromMs, toMs }: FullFolders): Question[] {
  const range = `from=${toIso(fromMs)}&to=${toIso(toMs)}`
  const ids = devices.map(({ hardwareId }) => hardwareId)
  const paths = [
    '/devices?limit=1000',
    '/groups',
    '/users',
    '/device-types',
    '/audit-log?limit=1000',
    '/stats',
    '/lock-events?limit=1000',
    '/commands?limit=1000',
    '/geofence-events?limit=1000',
    '/mqtt/quarantine',
    `/trips?${range}`,
    ...ids.flatMap((id) => [
      ...['', '/details', '/config', '/gps/latest', '/battery/latest', '/telemetry/stats', '/commands'].map(
        (end) => `/devices/${id}${end}`,
      ),
      `/devices/${id}/gps?${range}`,
      `/devices/${id}/battery?${range}`,
      `/trips/${id}?${range}`,
      `/lock-events?limit=1000&hardware_id=${id}`,
      `/geofence-events?limit=1000&hardware_id=${id}`,
    ]),
    ...groupIds.flatMap((id) => ['', '/devices', '/config', '/geofences'].map((end) => `/groups/${id}${end}`)),
    ...users.map(({ userId }) => `/users/${userId}`),
  ]
  return [
    ...paths.map((path) => ({ name: path, path, key: ADMIN_KEY })),
    ...users.map(({ key }, n) => ({ name: `devices of user ${n}`, path: '/devices', key })),
    ...users.map(({ key }, n) => ({ name: `events of user ${n}`, path: '/lock-events?limit=1000', key })),
  ]
}

async function ask(url: string, key: string): Promise<Answer> {
  try {
    const signal = AbortSignal.timeout(REQUEST_LIMIT_MS)
    const response = await fetch(url, { headers: { 'x-api-key': key }, signal })
    const isWarned = response.headers.has('cartbarn-warning')
    return { status: response.status, text: steady(await response.text()), isWarned }
  } catch (error) {
    return { status: 0, text: String(error) }
  }
}

function steady(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text, (name, value) => (VOLATILE.test(name) ? undefined : value)))
  } catch {
    return text
  }
}

/** Reads the messages the broker keeps for programs: retained ones, and those queued in a persistent session. */
async function listen(
  { ports }: GatewayProcess,
  { program }: FullFolders,
): Promise<{ retained: Answer; waiting: Answer }> {
  let client: MqttClient | undefined
  try {
    client = connect(`mqtt://127.0.0.1:${ports.mqtt}`, programOptions(program))
    const retained: string[] = []
    const waiting: string[] = []
    let lastAtMs = performance.now()
    client.on('message', (topic, payload, packet) => {
      lastAtMs = performance.now()
      ;(packet.retain ? retained : waiting).push(`${topic} ${payload.toString()}`)
    })
    const connected = Promise.withResolvers<void>()
    client.once('connect', () => connected.resolve()).once('error', connected.reject)
    client.once('close', () => connected.reject(new Error('closed')))
    await connected.promise
    await client.subscribeAsync('#', { qos: 1 })
    await waitUntil(() => performance.now() - lastAtMs >= QUIET_MS, REQUEST_LIMIT_MS, QUIET_MS / 5)
    return {
      retained: { status: 200, text: JSON.stringify(retained.sort()) },
      // in their order
      waiting: { status: 200, text: JSON.stringify(waiting.filter((line) => line.startsWith('board/'))) },
    }
  } catch (error) {
    const answer = { status: 0, text: String(error) }
    return { retained: answer, waiting: answer }
  } finally {
    client?.end(true)
  }
}
