import type { AlertJson } from '#shared/wire/alerts.ts'
import type { GeofenceEventJson } from '#shared/wire/geofence-events.ts'
import type { LockEventJson } from '#shared/wire/lock-events.ts'
import type { StopJson, TripJson } from '#shared/wire/trips.ts'

/** Event of a cart on a day. */
export type DayEvent = { atMs: number; key: string } & (
  | { kind: 'trip'; untilMs: number; trip: TripJson }
  | { kind: 'stop'; untilMs: number; stop: StopJson }
  | { kind: 'lock'; event: LockEventJson }
  | { kind: 'zone'; event: GeofenceEventJson }
  | { kind: 'alert'; alert: AlertJson }
)

export interface DayEvents {
  trips: readonly TripJson[]
  stops: readonly StopJson[]
  locks: readonly LockEventJson[]
  zones: readonly GeofenceEventJson[]
  alerts: readonly AlertJson[]
}

/** Merges the events in order of their start; of simultaneous ones, those with a duration come first. */
export function dayEvents({ trips, stops, locks, zones, alerts }: DayEvents): DayEvent[] {
  const events: DayEvent[] = [
    ...trips.map((trip) => ({
      kind: 'trip' as const,
      trip,
      key: `trip ${trip.startTime}`,
      atMs: Date.parse(trip.startTime),
      untilMs: Date.parse(trip.endTime),
    })),
    ...stops.map((stop) => ({
      kind: 'stop' as const,
      stop,
      key: `stop ${stop.startTime}`,
      atMs: Date.parse(stop.startTime),
      untilMs: Date.parse(stop.endTime),
    })),
    ...locks.map((event) => ({
      kind: 'lock' as const,
      event,
      key: `lock ${event.event_id}`,
      atMs: Date.parse(event.timestamp),
    })),
    ...zones.map((event) => ({
      kind: 'zone' as const,
      event,
      key: `zone ${event.event_id}`,
      atMs: Date.parse(event.timestamp),
    })),
    ...alerts.map((alert) => ({
      kind: 'alert' as const,
      alert,
      key: `alert ${alert.alert_id}`,
      atMs: Date.parse(alert.opened_at),
    })),
  ]
  return events.sort((a, b) => a.atMs - b.atMs)
}

/** Returns the last event that had begun at a moment; -1 before the first. */
export function eventAt(events: readonly DayEvent[], atMs: number): number {
  return events.findLastIndex((event) => event.atMs <= atMs)
}
