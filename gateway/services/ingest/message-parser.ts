import { MAX_AHEAD_MS, receiveTimeMs } from '#domain/event-time.ts'
import { newestEventMs, type UnverifiedTimes } from '#domain/latest-state.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { Counter } from '#shared/counter.ts'
import { deviceTopic } from '#shared/wire/mqtt.ts'
import type { NewQuarantineEntry } from '#store/tables/quarantine.ts'
import type { ClockConfirmation } from '../clock/confirmation.ts'
import type { DeviceClocks } from '../clock/device-clocks.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { TimestampTrustLimiter } from '../clock/timestamp-trust-limiter.ts'
import type { Device } from '../fleet.ts'
import type { DeviceConnection } from '../presence.ts'
import { CallLimit } from './call-limit.ts'
import type { DroppedReadings, Uplinked, UplinkMessage } from './message.ts'
import { parseUplink, type UplinkContent } from './uplink-parser.ts'
import { liveFromMs } from './zone-crossings.ts'

interface AcceptDeps {
  clock: GatewayClock
  brake: Pick<TimestampTrustLimiter, 'reported'>
  clockConfirmation: Pick<ClockConfirmation, 'reported'>
  deviceClocks: Pick<DeviceClocks, 'received'>
  /** True if a position request was sent to the device and has no response yet. */
  isLocating: (hardwareId: string) => boolean
  dropped: Counter
}

const QUARANTINE_BYTES = 4096

const NOTHING: readonly never[] = []

/** First stage of a message: parses its payload and decides its timestamps. Nothing is stored or published yet. */
export class MessageParser {
  readonly #deps: AcceptDeps
  #drops: DroppedReadings[] = []
  /** Newest timestamp by the device's own clock in the current message; 0 for none. */
  #reportedMs = 0
  /** Timestamp of its only reading, if it was rejected. */
  #doubtedMs: number | null = null
  /** Readings of the message that are refused because of their timestamps. */
  #refused: unknown[] = []
  readonly #callLimit: CallLimit

  constructor(deps: AcceptDeps) {
    this.#deps = deps
    this.#callLimit = new CallLimit(deps.clock)
  }

  /** Parses a device's message for the write queue. Never throws: unreadable content is quarantined. */
  accept(
    device: Device,
    connection: DeviceConnection | null,
    uplinked: Uplinked,
    sessionChanges: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): UplinkMessage {
    const { clock } = this.#deps
    const receivedAtMs = clock.nowMs()
    const latestMs = clock.latestEventMs(receivedAtMs)
    const content = this.#parse(device, uplinked, receivedAtMs, latestMs)
    for (const reason of uplinked.drops ?? NOTHING) this.#onDrop(reason)
    const drops = this.#drops.length === 0 ? NOTHING : this.#drops.splice(0)
    const { samples, lockEvents, unreadable } = content
    const refused = this.#refused.length === 0 ? NOTHING : this.#refused.splice(0)
    const shiftMs = clock.isTrusted ? this.#shiftMs(device, uplinked, content, receivedAtMs) : 0
    const noted = device.recent.take(
      {
        atMs: receivedAtMs,
        topic: deviceTopic(device.row.hardwareId, uplinked.level),
        result: (isEmpty(content) ? drops[0]?.reason : undefined) ?? 'waiting',
        drops,
        clockOffS: device.clock.offS,
      },
      uplinked.payload,
    )
    return {
      rows: Math.max(1, samples.length + lockEvents.length + sessionChanges.length),
      sessionChanges,
      device,
      connection,
      level: uplinked.level,
      receivedAtMs,
      latestMs,
      isResponse: !uplinked.isWill,
      shiftMs,
      content,
      drops,
      unverified: clock.isTrusted ? null : unverifiedTimes(content, receivedAtMs + MAX_AHEAD_MS),
      quarantine: quarantineEntry(device, uplinked, unreadable, refused, receivedAtMs),
      onStored: () => {
        if (device.isRegistered) onStored()
        else onRefused('device_removed')
      },
      onRefused,
      moves: NOTHING,
      late: NOTHING,
      liveFromMs: liveFromMs(samples, receivedAtMs, clock.isTrusted),
      crossings: NOTHING,
      hasNewFirmware: false,
      noted,
      stored: null,
    }
  }

  readonly #onDrop = (reason: string, count = 1): void => {
    this.#drops.push({ reason, count })
    this.#deps.dropped.add(reason, count)
  }

  readonly #notes = {
    reported: (atMs: number): void => {
      this.#reportedMs = Math.max(this.#reportedMs, atMs)
    },
    doubted: (atMs: number): void => {
      this.#doubtedMs = atMs
    },
    refused: (reading: unknown): void => {
      this.#refused.push(reading)
    },
  }

  #parse(device: Device, uplinked: Uplinked, receivedAtMs: number, latestMs: number): UplinkContent {
    const { clock, brake, clockConfirmation } = this.#deps
    this.#reportedMs = 0
    this.#doubtedMs = null
    if (!clock.isTrusted) {
      // the last time sent by the device is later than any estimate of the gateway
      device.newestReceiveMs = Math.max(device.newestReceiveMs, newestEventMs(device.reported.state))
    }
    const atMs = receiveTimeMs(receivedAtMs, device.newestReceiveMs, latestMs)
    const content = parseUplink(uplinked.level, uplinked.payload, atMs, latestMs, this.#onDrop, this.#notes)
    const reportedMs = this.#reportedMs
    // a device that requests the time sends back the gateway's own
    if (reportedMs > 0 || content.samples.length > 0) brake.reported(device.asksForTime ? 0 : reportedMs, latestMs)
    if (content.samples.length > 0 || reportedMs > 0 || this.#refused.length > 0) {
      // a sample without a timestamp has that of the gateway, which is newer
      const isOwn = reportedMs >= newestMs({ samples: content.samples, lockEvents: NOTHING, call: null })
      const isRefused = this.#refused.length > 0
      clockConfirmation.reported(device.row.hardwareId, isOwn && !isRefused ? reportedMs : 0)
    }
    if (content.call !== null && !this.#callLimit.admits(device, content.call)) {
      content.call = null
      this.#onDrop('too_many_calls')
    }
    device.newestReceiveMs = atMs
    if (!clock.isTrusted) {
      device.newestReceiveMs = Math.max(atMs, newestMs(content))
      if (reportedMs > 0) clock.received(device.row.hardwareId, reportedMs)
    }
    return content
  }

  /**
   * Evaluates the clock of the device by its message. Returns the shift for the times of the message if it reports the
   * present: the newest of them then equals the time of receipt.
   */
  #shiftMs(device: Device, { level }: Uplinked, content: UplinkContent, receivedAtMs: number): number {
    const { deviceClocks, isLocating } = this.#deps
    const { samples } = content
    const reportedMs = this.#reportedMs
    const isSingle = samples.length === 1
    const sentMs = this.#doubtedMs ?? reportedMs
    if (level === 'tlm' && sentMs !== 0) deviceClocks.received(device, sentMs, receivedAtMs, isSingle)
    const aheadMs = reportedMs - receivedAtMs
    // timestamps set by the gateway are right
    if (reportedMs === 0 || reportedMs < newestMs(content)) return 0
    const hasPosition = isSingle && !Number.isNaN(samples[0]?.lat)
    const isAnswer = hasPosition && isLocating(device.row.hardwareId)
    return device.clock.reportsPresent(aheadMs, isAnswer) ? device.newestReceiveMs - reportedMs : 0
  }
}

function isEmpty({ samples, lockEvents, status, commandAck, call, applied }: UplinkContent): boolean {
  const isWithoutEvents = samples.length + lockEvents.length === 0 && call === null
  return isWithoutEvents && status === null && commandAck === null && applied === null
}

/** Returns the newest time in a message; 0 if it has none. */
function newestMs({ samples, lockEvents, call }: Pick<UplinkContent, 'samples' | 'lockEvents' | 'call'>): number {
  let newestMs = call?.atMs ?? 0
  for (const { atMs } of samples) newestMs = Math.max(newestMs, atMs)
  for (const { atMs } of lockEvents) newestMs = Math.max(newestMs, atMs)
  return newestMs
}

/** Returns the times that the gateway would reject if its clock were right, those after `latestMs`; null for none. */
function unverifiedTimes({ samples, lockEvents }: UplinkContent, latestMs: number): UnverifiedTimes | null {
  const times = { count: 0, fromMs: Number.POSITIVE_INFINITY, toMs: 0 }
  for (const { atMs } of [...samples, ...lockEvents]) {
    if (atMs <= latestMs) continue
    times.count++
    times.fromMs = Math.min(times.fromMs, atMs)
    times.toMs = Math.max(times.toMs, atMs)
  }
  return times.count === 0 ? null : times
}

/** Builds the quarantine entry for unreadable content or readings with refused timestamps; null without either. */
function quarantineEntry(
  device: Device,
  uplinked: Uplinked,
  unreadable: string | null,
  refused: readonly unknown[],
  receivedAtMs: number,
): NewQuarantineEntry | null {
  if (unreadable === null && refused.length === 0) return null
  const { hardwareId } = device.row
  // copied, because the payload is a view of the whole chunk of the socket
  const start = () => new Uint8Array(uplinked.payload.subarray(0, QUARANTINE_BYTES))
  return {
    receivedAtMs,
    hardwareId,
    topic: deviceTopic(hardwareId, uplinked.level),
    reason: unreadable ?? 'implausible_time',
    sizeBytes: uplinked.payload.length,
    // the readings themselves are valid, so all of them are kept
    payload: unreadable === null ? Buffer.from(JSON.stringify(refused)) : start(),
  }
}
