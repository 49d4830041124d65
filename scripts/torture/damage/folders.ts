import { cpSync, rmSync } from 'node:fs'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { cornersOf, zoneOf } from '#scripts/rig/course.ts'
import { type BenchDevice, type GatewayApi, loginOf } from '#scripts/rig/gateway-api.ts'
import { ADMIN_KEY, type GatewayProcess, startGateway } from '#scripts/rig/gateway-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { Ride } from '#shared/testing/ride.ts'
import { createDataFolder } from '../disk/recorded-folder.ts'

/** Data folders of a gateway, to be damaged: after a stop, and killed with a long write-ahead log. */
export interface FullFolders {
  folders: Record<'stopped' | 'killed', string>
  devices: readonly BenchDevice[]
  users: readonly { userId: string; key: string }[]
  groupIds: readonly number[]
  /** Start of the period with all records; `toMs` is its end. */
  fromMs: number
  toMs: number
  /** Program with a persistent session and queued messages. */
  program: Program
}

interface Program {
  clientId: string
  username: string
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

/** Makes folders with data for every response of a gateway. */
export async function makeFolders(bench: Workbench, entry: string): Promise<FullFolders> {
  const live = createDataFolder(bench, 'course')
  const stopped = createDataFolder(bench, 'course-stopped')
  const killed = createDataFolder(bench, 'course-killed')
  const fromMs = Date.now() - HISTORY_MS
  const first = await startGateway(bench, { entry, dataDir: live, env: ENV })
  const made = await fill(first, fromMs)
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

async function fill(gateway: GatewayProcess, fromMs: number) {
  const { api } = gateway
  const random = createRandom('course')
  const devices = await api.registerDevices(DEVICES, 'cart')
  const groupIds = await makeGroups(api, devices, random)
  const users: { userId: string; key: string }[] = []
  for (let n = 0; n < USERS; n++) {
    const seen = devices.filter((_, i) => i % USERS === n || i === 0).map(({ hardwareId }) => hardwareId)
    const { username, password } = await api.createUser(`Starter ${n}`, seen)
    users.push({ userId: username, key: password })
  }
  for (const [n, device] of devices.entries()) await sendHistory(gateway, device, { fromMs, n, random })
  for (const { hardwareId: id } of devices) {
    for (let n = 0; n < COMMANDS; n++) {
      // lives longer than the torture takes, so that its state does not change meanwhile
      const body = { command: 'refresh_config', metadata: { note: `number ${n}` } } as const
      await api.call('POST /devices/{id}/commands', { path: { id }, body })
    }
  }
  return { devices, users, groupIds, program: await makeMessages(gateway) }
}

async function makeGroups(api: GatewayApi, devices: readonly BenchDevice[], random: Random): Promise<number[]> {
  const groupIds: number[] = []
  for (let n = 0; n < GROUPS; n++) {
    const { group_id: groupId } = await api.call('POST /groups', { body: { name: `Nine ${n + 1}` } })
    groupIds.push(groupId)
    const body = { type: 'FeatureCollection', features: zonesOf(n, random) } as const
    await api.call('PUT /groups/{groupId}/geofences', { path: { groupId }, body })
    const config = { realtime_enabled: n === 0, interval_s: 5 + n }
    await api.call('PUT /groups/{groupId}/config/{type}', { path: { groupId, type: 'teebox' }, body: config })
  }
  for (const [n, { hardwareId: id }] of devices.entries()) {
    const groupId = groupIds[n % GROUPS] ?? 0
    await api.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId, id } })
    await api.call('PATCH /devices/{id}', { path: { id }, body: { name: `Cart ${n + 1}` } })
    const config = { key_keyless_state: n % 2 === 0 ? 'key' : 'keyless' }
    await api.call('PUT /devices/{id}/config', { path: { id }, body: config })
  }
  return groupIds
}

function zonesOf(group: number, random: Random) {
  return Array.from({ length: ZONES }, (_, n) => {
    const [south, west] = [36.56 + n * 0.002, -121.95 + group * 0.01]
    const corners = cornersOf({ south, west, north: south + 0.001 + random.next() * 1e-4, east: west + 0.002 })
    return zoneOf(`z${group}-${n}`, { name: `Zone ${n}`, type: n % 2 === 0 ? 'alert' : 'slow' }, corners)
  })
}

async function sendHistory(
  gateway: GatewayProcess,
  device: BenchDevice,
  { fromMs, n, random }: { fromMs: number; n: number; random: Random },
): Promise<void> {
  const client = await connectDevice(gateway, device)
  const { records } = new Ride({ atMs: fromMs, lat: 36.55 + n * 0.003, long: -121.9495 })
    .drive(9000, 14, 6)
    .wait(1800, 6)
    .drive(9000, 12, 6, { headingDeg: 180 })
  const samples = records.map(({ atMs, lat, long, speedKmh }) => ({
    ts: atMs,
    lat: round(lat, 7),
    long: round(long, 7),
    speed: speedKmh,
    battery_voltage: round(48 + random.next() * 4, 3),
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

async function makeMessages({ api, ports }: GatewayProcess): Promise<Program> {
  const username = (await api.call('GET /me')).user.user_id
  const clientId = 'scoreboard'
  const url = `mqtt://127.0.0.1:${ports.mqtt}`
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

export function connectDevice({ ports }: GatewayProcess, device: BenchDevice): Promise<MqttClient> {
  return connectAsync(`mqtt://127.0.0.1:${ports.mqtt}`, { ...loginOf(device), reconnectPeriod: 0 })
}

/** Login of the admin's program, with a persistent session. */
export function programOptions({ clientId, username }: Program): IClientOptions {
  return { clientId, username, password: ADMIN_KEY, clean: false, reconnectPeriod: 0 }
}

async function sendLast(gateway: GatewayProcess, devices: readonly BenchDevice[]): Promise<void> {
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
