import type { ApiClient } from '#shared/client.ts'
import { HOUR_MS } from '#shared/time.ts'
import type { CartTrackJson } from '#shared/wire/tracks.ts'
import { cartTrack, mainDevice, type SpokenTrack, type TrackedDevice } from './cart-track.ts'
import { type DayEvent, dayEvents } from './day-events.ts'
import type { Span } from './playback.ts'
import { trackOf, type VoltageTrack, voltagesOf } from './track.ts'

/** All data of a cart on one local day. */
export interface CartDay {
  day: Span
  /** Hours with records; the whole day without records. */
  span: Span
  devices: readonly TrackedDevice[]
  track: SpokenTrack
  voltages: VoltageTrack
  events: readonly DayEvent[]
  /** Distance driven on trips, in metres. */
  drivenM: number
  /** True if records may be missing because they lie in damaged blocks. */
  hasGaps: boolean
}

const PAGE = 1000
/** Maximum number of pages: the thousandth crossing of a zone adds nothing. */
const PAGES_MAX = 5
const NO_VOLTAGES: VoltageTrack = { atMs: new Float64Array(0), voltageV: new Float32Array(0) }

/** Reads the day of a cart; trips are found with the trip settings of the site. Throws the errors of `ApiClient`. */
export async function readCartDay(
  api: Pick<ApiClient, 'call'>,
  cart: string,
  date: string,
  signal: AbortSignal,
): Promise<CartDay> {
  const answer = await api.call('GET /carts/{cart}/track', { path: { cart }, query: { date }, signal })
  const day = { fromMs: Date.parse(answer.from), toMs: Date.parse(answer.to) }
  const devices = answer.devices.map(({ hardware_id, device_type, gps }) => ({
    hardwareId: hardware_id,
    deviceType: device_type,
    track: trackOf(gps, day.fromMs),
  }))
  const track = cartTrack(devices)
  const main = mainDevice(devices, track)
  const range = { from: answer.from, to: answer.to }
  const ids = answer.devices.map(({ hardware_id }) => hardware_id)
  const [trips, locks, zones, alerts] = await Promise.all([
    main === undefined
      ? { trips: [], stops: [] }
      : api.call('GET /trips/{hardwareId}', { path: { hardwareId: main.hardwareId }, query: range, signal }),
    Promise.all(ids.map((id) => readLocks(api, { ...range, hardware_id: id }, signal))),
    main === undefined ? [] : readZoneEvents(api, { ...range, hardware_id: main.hardwareId }, signal),
    api.call('GET /alerts', { query: { ...range, cart: answer.cart, limit: PAGE }, signal }),
  ])
  const voltages = cartVoltages(answer.devices, day.fromMs)
  return {
    day,
    devices,
    track,
    voltages,
    span: hoursWith([track.atMs, voltages.atMs], day),
    events: dayEvents({ ...trips, locks: locks.flat(), zones, alerts: alerts.alerts }),
    drivenM: trips.trips.reduce((sum, { distance }) => sum + distance, 0),
    hasGaps: answer.warnings !== undefined,
  }
}

/** Cuts a day at the present; a future day is cut to its start. */
export function dayEndMs(span: Span, nowMs: number): Span {
  return { fromMs: span.fromMs, toMs: Math.max(span.fromMs, Math.min(span.toMs, nowMs)) }
}

interface Wanted {
  hardware_id: string
  from: string
  to: string
}

async function readLocks(api: Pick<ApiClient, 'call'>, wanted: Wanted, signal: AbortSignal) {
  const query = { ...wanted, order: 'asc' as const, limit: PAGE }
  return (await api.call('GET /lock-events', { query, signal })).events
}

async function readZoneEvents(api: Pick<ApiClient, 'call'>, wanted: Wanted, signal: AbortSignal) {
  const all = []
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = { ...wanted, order: 'asc' as const, limit: PAGE, offset: page * PAGE }
    const { events } = await api.call('GET /geofence-events', { query, signal })
    all.push(...events)
    if (events.length < PAGE) break
  }
  return all
}

/** Returns the voltages of the cart's lock, else of the device that reported most of them. */
function cartVoltages(devices: CartTrackJson['devices'], fromMs: number): VoltageTrack {
  const reporting = devices
    .filter(({ battery }) => battery.at.length > 0)
    .toSorted((a, b) => rank(b) - rank(a) || b.battery.at.length - a.battery.at.length)
  return reporting[0] === undefined ? NO_VOLTAGES : voltagesOf(reporting[0].battery, fromMs)
}

function rank({ device_type }: { device_type: string }): number {
  return device_type === 'teebox' ? 1 : 0
}

/** Returns the whole hours from the first of the ascending times to the last, within the day. */
function hoursWith(columns: readonly Float64Array[], day: Span): Span {
  const known = columns.filter(({ length }) => length > 0)
  if (known.length === 0) return day
  const firstMs = Math.min(...known.map((atMs) => atMs[0] ?? day.fromMs))
  const lastMs = Math.max(...known.map((atMs) => atMs.at(-1) ?? day.toMs))
  const hours = (ms: number) => (ms - day.fromMs) / HOUR_MS
  return {
    fromMs: day.fromMs + Math.floor(hours(firstMs)) * HOUR_MS,
    toMs: Math.min(day.toMs, day.fromMs + Math.ceil(hours(lastMs + 1)) * HOUR_MS),
  }
}
