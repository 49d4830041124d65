import type { UnverifiedTimes } from '#domain/latest-state.ts'
import type { RecentMessage } from '#domain/recent-messages.ts'
import type { Sample } from '#domain/telemetry.ts'
import type { Move } from '#gateway/events.ts'
import type { Uplink } from '#shared/wire/mqtt.ts'
import type { AckResult } from '#store/tables/commands.ts'
import type { GeofenceEventRow } from '#store/tables/geofence-events.ts'
import type { NewQuarantineEntry } from '#store/tables/quarantine.ts'
import type { Appendable } from '#store/writer/appender.ts'
import type { Device } from '../fleet.ts'
import type { DeviceConnection } from '../presence.ts'
import type { UplinkContent } from './uplink-parser.ts'

/** A message as the broker hands it over. */
export interface Uplinked {
  level: Uplink
  payload: Buffer
  qos: 0 | 1 | 2
  isWill: boolean
  /** Why parts of it were not taken before it came here; none unless told. */
  drops?: readonly string[]
}

/** A device's message on its way to the disk: `accept` makes it, `draft` and the commit fill in the rest. */
export interface UplinkMessage extends Appendable {
  readonly device: Device
  readonly connection: DeviceConnection | null
  readonly level: Uplink
  readonly receivedAtMs: number
  /** No event time after this can be believed, not even a known one. */
  readonly latestMs: number
  /** False for a last will, which the broker sends and not the device. */
  readonly isResponse: boolean
  /** What its times become right by, as far as they tell of now: 0 unless the clock of its device is wrong. */
  readonly shiftMs: number
  readonly content: UplinkContent
  readonly drops: readonly DroppedReadings[]
  /** Times in it that are stored and could not be judged; null if there are none. */
  readonly unverified: UnverifiedTimes | null
  readonly quarantine: NewQuarantineEntry | null
  /** Positions before this are too old to be watched. */
  readonly liveFromMs: number
  /** What moves the state; filled in by `draft`, announced after the commit. */
  moves: readonly Move[]
  /** Places in `content.samples` of those that only go to history. */
  late: readonly number[]
  /** Zones entered and left; filled in by `draft`, announced after the commit. */
  crossings: readonly GeofenceEventRow[]
  /** What is told of it to who looks at the device's messages; undefined when there were too many. */
  readonly noted: RecentMessage | undefined
  /** What of it was new to the store; null until it is committed. */
  stored: StoredContent | null
}

/** What the store says of a message's content, in the order of the content. */
export interface StoredContent {
  /** `GPS_STORED` and `BATTERY_STORED` of each sample. */
  flags: Uint8Array
  lockEvents: readonly boolean[]
  /** Of each lock event, what the command that caused it said for it, as JSON. */
  metadata: readonly (string | null)[]
  ack: AckResult | null
}

/** Readings that a message lost, and why. */
export interface DroppedReadings {
  reason: string
  count: number
}

/** The readings of a message at the times that the state of its device goes by. */
export function liveSamples({ content: { samples }, shiftMs }: UplinkMessage): readonly Sample[] {
  return shiftMs === 0 ? samples : samples.map((sample) => ({ ...sample, atMs: sample.atMs + shiftMs }))
}

/** After it no event time can be believed; of a clock that was made right, none after the receipt. */
export function liveLatestMs({ receivedAtMs, latestMs, shiftMs }: UplinkMessage): number {
  return shiftMs === 0 ? latestMs : receivedAtMs
}
