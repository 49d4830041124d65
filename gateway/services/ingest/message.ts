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

export interface Uplinked {
  level: Uplink
  payload: Buffer
  qos: 0 | 1 | 2
  isWill: boolean
  /** Reasons why parts were dropped earlier; none by default. */
  drops?: readonly string[]
}

/** Message of a device on its way to the disk: `accept` creates it, `encode` and the commit add the rest. */
export interface UplinkMessage extends Appendable {
  readonly device: Device
  readonly connection: DeviceConnection | null
  readonly level: Uplink
  readonly receivedAtMs: number
  /** Latest credible event time; even a known later time is invalid. */
  readonly latestMs: number
  /** False for a last will, which the broker sends, not the device. */
  readonly isResponse: boolean
  /** Shift that corrects its times, as far as they report the present; 0 unless the clock of its device is wrong. */
  readonly shiftMs: number
  readonly content: UplinkContent
  readonly drops: readonly DroppedReadings[]
  /** Stored times that could not be verified; null for none. */
  readonly unverified: UnverifiedTimes | null
  readonly quarantine: NewQuarantineEntry | null
  /** Positions before this time are too old for zone crossings. */
  readonly liveFromMs: number
  /** Changes of the state; set by `encode`, published after the commit. */
  moves: readonly Move[]
  /** Indexes of `content.samples` that only go to history. */
  late: readonly number[]
  /** Zone crossings; set by `encode`, published after the commit. */
  crossings: readonly GeofenceEventRow[]
  /** True if it changes the device's firmware version; set by `encode`, published after the commit. */
  hasNewFirmware: boolean
  /** Entry in the device's list of recent messages; undefined if there were too many. */
  readonly noted: RecentMessage | undefined
  /** Parts of the message that are new to the store; null until the commit. */
  stored: StoredContent | null
}

/** Results of the store for a message's content, in the order of the content. */
export interface StoredContent {
  /** `GPS_STORED` and `BATTERY_STORED` of each sample. */
  flags: Uint8Array
  lockEvents: readonly boolean[]
  /** Metadata of the command that caused each lock event, as JSON. */
  metadata: readonly (string | null)[]
  ack: AckResult | null
  /** True if the message has a call that is not a repeated one. */
  isCallNew: boolean
}

export interface DroppedReadings {
  reason: string
  count: number
}

/** Returns the readings of a message with the times used for the state of its device. */
export function liveSamples({ content: { samples }, shiftMs }: UplinkMessage): readonly Sample[] {
  return shiftMs === 0 ? samples : samples.map((sample) => ({ ...sample, atMs: sample.atMs + shiftMs }))
}

/** Returns the latest credible event time; for a corrected clock, the time of receipt. */
export function liveLatestMs({ receivedAtMs, latestMs, shiftMs }: UplinkMessage): number {
  return shiftMs === 0 ? latestMs : receivedAtMs
}
