import { cpSync, rmSync } from 'node:fs'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { ADMIN_KEY, type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { ApiClient } from '#shared/client.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { Ride } from '#shared/testing/ride.ts'
import type { InputOf } from '#shared/wire/operation-types.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'

export interface CourseDevice {
  hardwareId: string
  password: string
}

export interface CourseUser {
  userId: string
  key: string
}

/** Data folders of a course, to be damaged: after a stop, and killed with a long write-ahead log. */
export interface Course {
  folders: Record<'stopped' | 'killed', string>
  devices: readonly CourseDevice[]
  users: readonly CourseUser[]
  groupIds: readonly number[]
  /** Start of the period with all records; `toMs` is its end. */
  fromMs: number
  toMs: number
  /** Program with a persistent session and queued messages. */
  program: { clientId: string; username: string }
}

const DEVICES = 8
const GROUPS = 2
const USERS = 5
const ZONES = 20
const RETAINED = 40
const EVENTS = 66
const COMMANDS = 3
const WAITING = 12
/** Sent one by one before the kill, a transaction each. */
const LAST_SAMPLES = 150
const HISTORY_MS = 6 * 3_600_000
const BATCH = 500
/** Keeps the times: with others it would not be the same file. */
const COPY = { recursive: true, preserveTimestamps: true }
/** Seals early, so that there are blocks as well as a log. */
const ENV = { CARTBARN_SEAL_SAMPLES: '4096' }

/** Creates a course with data for every response of a gateway. */
export async function makeCourse(bench: Workbench, entry: string): Promise<Course> {
  const live = createDataFolder(bench, 'course')
  const stopped = createDataFolder(bench, 'course-stopped')
  const killed = createDataFolder(bench, 'course-killed')
  const fromMs = Date.now() - HISTORY_MS
  const first = await startGateway(bench, { entry, dataDir: live, env: ENV })
  const maker = new CourseMaker(first)
  const made = await maker.make(fromMs)
  await first.process.stop()
  cpSync(live, stopped, COPY)

  const second = await startGateway(bench, { entry, dataDir: live, env: ENV })
  await sendLast(second, made.devices)
  await second.process.stop('SIGKILL')
  cpSync(live, killed, COPY)
  rmSync(live, { recursive: true })
  // a later start of a copy must not find the folder in use
  for (const folder of [stopped, killed]) rmSync(`${folder}/cartbarn.lock`, { force: true })
  return { folders: { stopped, killed }, ...made, fromMs, toMs: Date.now() + 60_000 }
}

class CourseMaker {
  readonly #gateway: GatewayProcess
  readonly #api: ApiClient
  readonly #random: Random = createRandom('course')

  constructor(gateway: GatewayProcess) {
    this.#gateway = gateway
    this.#api = new ApiClient({ url: `http://127.0.0.1:${gateway.ports.http}`, apiKey: ADMIN_KEY })
  }

  async make(fromMs: number): Promise<Pick<Course, 'devices' | 'users' | 'groupIds' | 'program'>> {
    const devices = await this.#gateway.api.registerDevices(DEVICES, 'cart')
    const groupIds = await this.#makeGroups(devices)
    const users = await this.#makeUsers(devices)
    for (const [n, device] of devices.entries()) await this.#sendHistory(device, fromMs, n)
    await this.#makeCommands(devices)
    const program = await this.#makeMessages()
    return { devices, users, groupIds, program }
  }

  async #makeGroups(devices: readonly CourseDevice[]): Promise<number[]> {
    const groupIds: number[] = []
    for (let n = 0; n < GROUPS; n++) {
      const { group_id } = await this.#api.call('POST /groups', { body: { name: `Nine ${n + 1}` } })
      groupIds.push(group_id)
      await this.#api.call('PUT /groups/{groupId}/geofences', {
        path: { groupId: group_id },
        body: this.#zones(n),
      })
      await this.#api.call('PUT /groups/{groupId}/config/{type}', {
        path: { groupId: group_id, type: 'teebox' },
        body: { realtime_enabled: n === 0, interval_s: 5 + n },
      })
    }
    for (const [n, { hardwareId }] of devices.entries()) {
      const groupId = groupIds[n % GROUPS] ?? 0
      await this.#api.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId, id: hardwareId } })
      await this.#api.call('PATCH /devices/{id}', {
        path: { id: hardwareId },
        body: { name: `Cart ${n + 1}` },
      })
      await this.#api.call('PUT /devices/{id}/config', {
        path: { id: hardwareId },
        body: { key_keyless_state: n % 2 === 0 ? 'key' : 'keyless' },
      })
    }
    return groupIds
  }

  #zones(group: number): InputOf<'PUT /groups/{groupId}/geofences'>['body'] {
    const features = Array.from({ length: ZONES }, (_, n) => {
      const [lat, long] = [36.56 + n * 0.002, -121.95 + group * 0.01]
      const [north, east] = [lat + 0.001 + this.#random.next() * 1e-4, long + 0.002]
      return {
        type: 'Feature' as const,
        id: `z${group}-${n}`,
        properties: { name: `Zone ${n}`, type: n % 2 === 0 ? ('alert' as const) : ('slow' as const) },
        geometry: {
          type: 'Polygon' as const,
          coordinates: [
            [
              [long, lat],
              [east, lat],
              [east, north],
              [long, north],
              [long, lat],
            ],
          ] as [number, number][][],
        },
      }
    })
    return { type: 'FeatureCollection', features }
  }

  async #makeUsers(devices: readonly CourseDevice[]): Promise<CourseUser[]> {
    const users: CourseUser[] = []
    for (let n = 0; n < USERS; n++) {
      const allowed = devices.filter((_, i) => i % USERS === n || i === 0).map(({ hardwareId }) => hardwareId)
      const { user, api_key } = await this.#api.call('POST /users', {
        body: { name: `Starter ${n}`, role: 'user', allowed_hardware_ids: allowed },
      })
      users.push({ userId: user.user_id, key: api_key })
    }
    return users
  }

  async #sendHistory(device: CourseDevice, fromMs: number, n: number): Promise<void> {
    const client = await connectDevice(this.#gateway, device)
    const { records } = new Ride({ atMs: fromMs, lat: 36.55 + n * 0.003, long: -121.9495 })
      .drive(9000, 14, 6)
      .wait(1800, 6)
      .drive(9000, 12, 6, { headingDeg: 180 })
    const samples = records.map(({ atMs, lat, long, speedKmh }) => ({
      ts: atMs,
      lat: round(lat, 7),
      long: round(long, 7),
      speed: speedKmh,
      battery_voltage: round(48 + this.#random.next() * 4, 3),
    }))
    for (let at = 0; at < samples.length; at += BATCH)
      await publish(client, `dev/${device.hardwareId}/tlm`, samples.slice(at, at + BATCH))
    const events = Array.from({ length: EVENTS }, (_, i) => ({
      eid: `${n}-${i}`,
      event: i % 2 === 0 ? 'unlock' : 'lock',
      source: i % 3 === 0 ? 'rfid' : 'key',
      ...(i % 3 === 0 ? { code: `04A1${1000 + n * EVENTS + i}` } : {}),
      ts: fromMs + i * 300_000 + n,
    }))
    await publish(client, `dev/${device.hardwareId}/evt`, events)
    await client.endAsync()
  }

  async #makeCommands(devices: readonly CourseDevice[]): Promise<void> {
    for (const { hardwareId } of devices) {
      for (let n = 0; n < COMMANDS; n++) {
        await this.#api.call('POST /devices/{id}/commands', {
          path: { id: hardwareId },
          // lives longer than the torture takes, so that its state does not change meanwhile
          body: { command: 'refresh_config', metadata: { note: `number ${n}` } },
        })
      }
    }
  }

  async #makeMessages(): Promise<Course['program']> {
    const username = await this.#gateway.api.firstUserId()
    const clientId = 'scoreboard'
    const url = `mqtt://127.0.0.1:${this.#gateway.ports.mqtt}`
    const program = await connectAsync(url, programOptions({ clientId, username }))
    await program.subscribeAsync('board/#', { qos: 1 })
    await program.endAsync()
    const other = await connectAsync(url, programOptions({ clientId: 'writer', username }))
    for (let n = 0; n < RETAINED; n++)
      await other.publishAsync(`state/${n}`, `state number ${n}`, { qos: 1, retain: true })
    for (let n = 0; n < WAITING; n++) await other.publishAsync('board/line', `line ${n}`, { qos: 1 })
    await other.endAsync()
    return { clientId, username }
  }
}

export function connectDevice(
  { ports }: Pick<GatewayProcess, 'ports'>,
  { hardwareId, password }: CourseDevice,
): Promise<MqttClient> {
  return connectAsync(`mqtt://127.0.0.1:${ports.mqtt}`, {
    clientId: hardwareId,
    username: hardwareId,
    password,
    reconnectPeriod: 0,
  })
}

/** Login of the admin's program, with a persistent session. */
export function programOptions({ clientId, username }: Course['program']): IClientOptions {
  return { clientId, username, password: ADMIN_KEY, clean: false, reconnectPeriod: 0 }
}

async function sendLast(gateway: GatewayProcess, devices: readonly CourseDevice[]): Promise<void> {
  await Promise.all(
    devices.map(async (device, n) => {
      const client = await connectDevice(gateway, device)
      for (let i = 0; i < LAST_SAMPLES; i++) {
        const sample = { ts: Date.now(), lat: 36.57 + n * 1e-3, long: round(-121.94 + i * 1e-5, 7), speed: 9 }
        await publish(client, `dev/${device.hardwareId}/tlm`, sample)
        if (i % 10 !== 0) continue
        const event = { eid: `last-${n}-${i}`, event: 'lock', source: 'key', ts: Date.now() }
        await publish(client, `dev/${device.hardwareId}/evt`, event)
      }
      client.end(true)
    }),
  )
}

export async function publish(client: MqttClient, topic: string, payload: object): Promise<void> {
  await client.publishAsync(topic, JSON.stringify(payload), { qos: 1 })
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
