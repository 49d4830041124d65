import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import type { GpsRecords } from '#shared/telemetry/records.ts'
import { MINUTE_MS } from '#shared/time.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { FilledFolder } from './fill.ts'
import { recordActive, recordFleet, recordSingle, samplesOfActive, samplesOfTracks } from './history-parts.ts'

/** `loggedMs` is the last part of `activeMs`, which is left in the log. */
const SIZES = { days: 31, fleet: 50, active: 500, activeMs: 240 * MINUTE_MS, loggedMs: 10 * MINUTE_MS }
const SHORT_SIZES = { days: 1, fleet: 5, active: 20, activeMs: 20 * MINUTE_MS, loggedMs: 2 * MINUTE_MS }
const LOADED_DEVICES = 200

/** Part of the history. */
export interface HistoryPart {
  readonly hardwareIds: readonly string[]
  readonly fromMs: number
  readonly toMs: number
  readonly records: number
}

/** Makes the history of a run: a device with a fix a second, and a fleet with one in 5 s for twelve hours a day. */
export async function makeHistory(context: ScenarioContext) {
  const sizes = context.isShort ? SHORT_SIZES : SIZES
  const folder = await FilledFolder.create(context, 'shared-history')
  const singleTrack = recordSingle(sizes.days)
  return {
    sizes,
    folder,
    singleTrack,
    single: await makePart(folder, 'single', 1, [singleTrack]),
    fleet: await makePart(folder, 'fleet', sizes.fleet, recordFleet(sizes.days)),
    /** Devices without a history, to send messages as. */
    loaded: await folder.register(LOADED_DEVICES, 'loaded'),
    active: {
      devices: await folder.register(sizes.active, 'active'),
      tracks: recordActive(sizes.activeMs / 5000),
      sinceMs: Date.now() - sizes.activeMs,
      toMs: 0,
    },
  }
}

async function makePart(
  folder: FilledFolder,
  prefix: string,
  count: number,
  tracks: GpsRecords[],
): Promise<HistoryPart> {
  const devices = await folder.register(count, prefix)
  const records = await folder.fill(samplesOfTracks(folder.deviceIds(prefix), tracks))
  return {
    hardwareIds: devices.map(({ hardwareId }) => hardwareId),
    fromMs: Math.min(...tracks.map(({ atMs }) => atMs[0] ?? 0)),
    // each device after the first is shifted a little in time
    toMs: Math.max(...tracks.map(({ atMs }) => atMs.at(-1) ?? 0)) + MINUTE_MS,
    records,
  }
}

/** Brings devices that are on their way up to the present: their recent samples are in the log, all before sealed. */
export async function continueActive({ folder, sizes, active }: Awaited<ReturnType<typeof makeHistory>>) {
  const deviceIds = folder.deviceIds('active')
  const samples = (fromMs: number, toMs: number) =>
    samplesOfActive(deviceIds, active.tracks, { fromMs, toMs, sinceMs: active.sinceMs })
  // in two steps: the recent samples are made after the first step, which takes long, so that they reach the present
  const fromMs = Math.max(Date.now() - sizes.activeMs, active.toMs + 1)
  const sealedToMs = Math.max(fromMs, Date.now() - sizes.loggedMs)
  await folder.fill(samples(fromMs, sealedToMs))
  active.toMs = Date.now()
  await folder.fillLog(samples(sealedToMs + 1, active.toMs))
}

/** Path of the trips of the first device of a part. */
export const tripsOfOne = (part: HistoryPart) => `/trips/${part.hardwareIds[0]}?${rangeOf(part)}`

/** Path of the trips of all its devices. */
export const tripsOfAll = (part: HistoryPart) => `/trips?${rangeOf(part)}&hardware_ids=${part.hardwareIds.join(',')}`

/** Throws unless the trips of a path were made of all positions of the part. */
export async function checkTrips({ ports }: GatewayProcess, path: string, { records }: HistoryPart): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${ports.http}${path}`, { headers: { 'X-API-Key': ADMIN_KEY } })
  const { summary } = (await response.json()) as AnswerOf<'GET /trips'>
  if (summary.positionsAnalyzed !== records) throw new Error(`trips are of ${summary.positionsAnalyzed} positions`)
}

/** Parameters of a query for a period. */
export function rangeOf({ fromMs, toMs }: { fromMs: number; toMs: number }): string {
  return `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`
}
