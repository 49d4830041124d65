import type { BenchDevice, BenchLogin } from '#scripts/rig/gateway-api.ts'
import type { AttackedCourse, Person } from '#scripts/rig/neighbours/attacks.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { FilledFolder, type FilledSample } from '../history/fill.ts'

const DEVICES = 200
const LOCK_EVENTS = 400_000
const RECORDS = 200_000
const GOOD_KEYS = 110
/** Sizes of the short form. */
const SHORT = { devices: 50, lockEvents: 8_000, records: 8_192, goodKeys: 30 }
const GAP_MS = 5000
/** 1 May 2026. */
const FROM_MS = 1_777_593_600_000

/** Data folder with a fleet, people and a history; a gateway is started on it or on a copy. */
export interface Course extends AttackedCourse {
  folder: FilledFolder
  fleet: BenchDevice[]
  /** Device that an admin unlocks; connected, and unlocked. */
  unlocked: BenchDevice
  admin: BenchLogin
  goodKeys: string[]
}

/** Creates the course; no gateway runs on it yet. */
export async function createCourse(context: ScenarioContext): Promise<Course> {
  const sizes = context.isShort
    ? SHORT
    : { devices: DEVICES, lockEvents: LOCK_EVENTS, records: RECORDS, goodKeys: GOOD_KEYS }
  const folder = await FilledFolder.create(context, 'neighbours')
  const gateway = await folder.start()
  const { api } = gateway
  const [unlocked, rogue, ...fleet] = await api.registerDevices(sizes.devices + 2)
  const [seen] = fleet
  if (unlocked === undefined || rogue === undefined || seen === undefined) throw new Error('no devices')
  const person = async (name: string, hardwareIds: string[]): Promise<Person> => ({
    ...(await api.createUser(name, hardwareIds)),
    hardwareIds,
  })
  const fleetIds = fleet.map(({ hardwareId }) => hardwareId)
  const course = {
    folder,
    fleet,
    unlocked,
    rogue,
    lockEvents: sizes.lockEvents,
    admin: await api.createAdmin('starter'),
    viewer: await person('viewer', [seen.hardwareId]),
    unrelated: await person('nobody', []),
    captain: await person('captain', fleetIds),
    goodKeys: await keysOf(sizes.goodKeys, (name) => person(name, fleetIds)),
    longHistoryPath: `/devices/${seen.hardwareId}/gps?from=2026-01-01T00:00:00Z&to=2099-01-01T00:00:00Z`,
  }
  await gateway.process.stop()
  await fillPast(course, sizes.records)
  return course
}

async function keysOf(count: number, person: (name: string) => Promise<Person>): Promise<string[]> {
  const keys: string[] = []
  for (let i = 0; i < count; i++) keys.push((await person(`tablet ${i}`)).password)
  return keys
}

async function fillPast({ folder, fleet, lockEvents }: Course, records: number): Promise<void> {
  const [deviceId = 0] = folder.deviceIds('bench').slice(2)
  await folder.fillLockEvents(eventsOf(fleet, folder.shortIds('bench').slice(2), lockEvents))
  await folder.fill(samplesOf(deviceId, records))
}

function* eventsOf(fleet: readonly BenchDevice[], shortIds: readonly string[], count: number) {
  for (let i = 0; i < count; i++) {
    const { hardwareId = '' } = fleet[i % fleet.length] ?? {}
    const shortId = shortIds[i % fleet.length] ?? ''
    yield {
      eventId: `past-${i}`,
      hardwareId,
      shortId,
      identity: `eid:past-${i}`,
      event: 'unlock',
      source: 'rfid',
      atMs: FROM_MS + i * GAP_MS,
      code: '04A1B2C3',
      commandId: null,
    }
  }
}

function* samplesOf(deviceId: number, count: number): Generator<FilledSample, void, void> {
  for (let i = 0; i < count; i++) {
    yield {
      deviceId,
      atMs: FROM_MS + i * GAP_MS,
      latE7: 365_680_000 + ((i * 37) % 90_000),
      longE7: -1_219_480_000 + ((i * 53) % 90_000),
      speedMilliKmh: (i * 7) % 24_000,
      voltageMv: 48_000 + ((i * 11) % 6_000),
    }
  }
}
