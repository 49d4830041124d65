import type { Sample } from '#domain/telemetry.ts'
import type { GatewayEvents } from '#gateway/events.ts'
import { fromE7, toE7 } from '#shared/geo.ts'
import { geofenceEventId } from '#shared/ids.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { type Fix, NO_ZONE_STATE, type WatchState, watch } from '#shared/zones/watch.ts'
import type { GeofenceEventRow } from '#store/tables/geofence-events.ts'
import type { Device } from '../fleet.ts'
import type { WatchedSet } from '../zones/sets.ts'

/** Age from which a received position is history: it changes no state and raises no alert. */
export const LIVE_MS = 5 * MINUTE_MS

const NOTHING: readonly never[] = []

/**
 * Returns the time from which the readings of a message are live. Without a trusted clock their age is unknown: then
 * all readings of a message that spans at most `LIVE_MS` are live, and none of a longer one, an upload.
 */
export function liveFromMs(samples: readonly Sample[], receivedAtMs: number, isClockTrusted: boolean): number {
  if (isClockTrusted) return receivedAtMs - LIVE_MS
  let oldestMs = Number.POSITIVE_INFINITY
  let newestMs = Number.NEGATIVE_INFINITY
  for (const { atMs } of samples) {
    oldestMs = Math.min(oldestMs, atMs)
    newestMs = Math.max(newestMs, atMs)
  }
  return newestMs - oldestMs <= LIVE_MS ? oldestMs : Number.POSITIVE_INFINITY
}

/** Parts of a message that zone detection needs. */
export interface ZoneInput {
  device: Device
  liveFromMs: number
  latestMs: number
  samples: readonly Sample[]
}

/** Detects crossings in a message's live positions, oldest first; `set` has the device's zones, null for none. */
export function crossings(
  state: WatchState,
  set: WatchedSet | null,
  { device, liveFromMs: fromMs, latestMs, samples }: ZoneInput,
): { state: WatchState; events: readonly GeofenceEventRow[] } {
  // the usual case, which needs no filter
  if (set === null) return detectCrossing(state, set, device, NOTHING, latestMs)
  const live = samples.filter(({ atMs, lat }) => atMs >= fromMs && !Number.isNaN(lat))
  if (live.length > 1) live.sort((a, b) => a.atMs - b.atMs)
  return detectCrossing(
    state,
    set,
    device,
    live.map(({ atMs, lat, long }) => ({ atMs, latE7: toE7(lat), longE7: toE7(long) })),
    latestMs,
  )
}

/** Detects zone crossings in live positions that are in order. */
export function detectCrossing(
  state: WatchState,
  set: WatchedSet | null,
  { row }: Device,
  fixes: Iterable<Fix>,
  latestMs: number,
): { state: WatchState; events: readonly GeofenceEventRow[] } {
  // the state of other zones is dropped: a device that returns to one counts as seen there for the first time
  if (set === null) return { state: state.last === null ? state : NO_ZONE_STATE, events: NOTHING }
  let known = state
  let events: GeofenceEventRow[] | undefined
  for (const fix of fixes) {
    const seen = watch(known, set.watched, fix, latestMs)
    known = seen.state
    for (const { kind, ...crossed } of seen.events) {
      const zone = set.zoneOf(crossed.zoneId)
      if (zone === undefined) continue
      events ??= []
      events.push({
        ...crossed,
        event: kind,
        eventId: geofenceEventId(row.hardwareId, crossed.zoneId, kind, crossed.atMs),
        hardwareId: row.hardwareId,
        shortId: row.shortId,
        groupId: set.groupOf(crossed.zoneId),
        zoneName: zone.name,
        zoneType: zone.type,
      })
    }
  }
  return { state: known, events: events ?? NOTHING }
}

export function crossingOf({ latE7, longE7, shortId: _, ...row }: GeofenceEventRow): GatewayEvents['zoneCrossed'] {
  return { ...row, lat: fromE7(latE7), long: fromE7(longE7) }
}
