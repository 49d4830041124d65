import { createPeople, createTablets } from '#scripts/rig/course.ts'
import type { BenchDevice, BenchLogin } from '#scripts/rig/gateway-api.ts'
import type { AttackedCourse } from '#scripts/rig/neighbours/attacks.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { FilledFolder, MADE_FROM_MS, MADE_GAP_MS, madeSample } from '../history/fill.ts'

const SIZES = { devices: 200, lockEvents: 400_000, records: 200_000, goodKeys: 110 }
const SHORT = { devices: 50, lockEvents: 8_000, records: 8_192, goodKeys: 30 }

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
export async function createAttacked(context: ScenarioContext): Promise<Course> {
  const { devices, lockEvents, records, goodKeys } = context.isShort ? SHORT : SIZES
  const folder = await FilledFolder.create(context, 'neighbours')
  const gateway = await folder.start()
  const { api } = gateway
  const [unlocked, rogue, ...fleet] = await api.registerDevices(devices + 2)
  const [seen] = fleet
  if (unlocked === undefined || rogue === undefined || seen === undefined) throw new Error('no devices')
  const fleetIds = fleet.map(({ hardwareId }) => hardwareId)
  const course: Course = {
    ...(await createPeople(api, seen.hardwareId, fleetIds)),
    folder,
    fleet,
    unlocked,
    rogue,
    lockEvents,
    admin: await api.createAdmin('starter'),
    goodKeys: await createTablets(api, goodKeys, fleetIds),
  }
  await gateway.process.stop()
  await fillPast(course, records)
  return course
}

async function fillPast({ folder, fleet, lockEvents }: Course, records: number): Promise<void> {
  const shortIds = folder.shortIds('bench').slice(2)
  const fields = { event: 'unlock', source: 'rfid', code: '04A1B2C3', commandId: null }
  const events = Array.from({ length: lockEvents }, (_, i) => ({
    eventId: `past-${i}`,
    hardwareId: fleet[i % fleet.length]?.hardwareId ?? '',
    shortId: shortIds[i % fleet.length] ?? '',
    identity: `eid:past-${i}`,
    atMs: MADE_FROM_MS + i * MADE_GAP_MS,
    ...fields,
  }))
  await folder.fillLockEvents(events)
  const [deviceId = 0] = folder.deviceIds('bench').slice(2)
  await folder.fill(Array.from({ length: records }, (_, tick) => madeSample(deviceId, tick)))
}
