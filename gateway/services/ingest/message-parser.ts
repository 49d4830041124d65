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
import type { DroppedReadings, Uplinked, UplinkMessage } from './message.ts'
import { parseUplink, type UplinkContent } from './uplink-parser.ts'
import { liveFromMs } from './zone-crossings.ts'

interface AcceptDeps {
  clock: GatewayClock
  brake: Pick<TimestampTrustLimiter, 'reported'>
  clockConfirmation: Pick<ClockConfirmation, 'said'>
  deviceClocks: Pick<DeviceClocks, 'heard'>
  /** Whether a device has been asked where it is and has not answered. */
  isLocating: (hardwareId: string) => boolean
  dropped: Counter
}

const QUARANTINE_BYTES = 4096

const NOTHING: readonly never[] = []

/** The first moment of a message: its payload is parsed and its time is decided. Nothing is stored or shown yet. */
export class MessageParser {
  readonly #deps: AcceptDeps
  #drops: DroppedReadings[] = []
  /** The newest time of the device's own in the message that is read. */
  #saidMs = 0
  /** The time of its one reading, if that was not believed. */
  #doubtedMs: number | null = null
  /** Readings of it that are not taken because of their times. */
  #refused: unknown[] = []

  constructor(deps: AcceptDeps) {
    this.#deps = deps
  }

  /**
   * Makes a device's message into what waits for the disk. Never throws: what cannot be read goes to the quarantine.
   */
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
      noted,
      stored: null,
    }
  }

  readonly #onDrop = (reason: string, count = 1): void => {
    this.#drops.push({ reason, count })
    this.#deps.dropped.add(reason, count)
  }

  readonly #notes = {
    said: (atMs: number): void => {
      this.#saidMs = Math.max(this.#saidMs, atMs)
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
    this.#saidMs = 0
    this.#doubtedMs = null
    if (!clock.isTrusted) {
      // what the device said last is later than anything we could guess
      device.newestReceiveMs = Math.max(device.newestReceiveMs, newestEventMs(device.reported.state))
    }
    const atMs = receiveTimeMs(receivedAtMs, device.newestReceiveMs, latestMs)
    const content = parseUplink(uplinked.level, uplinked.payload, atMs, latestMs, this.#onDrop, this.#notes)
    const saidMs = this.#saidMs
    // a device that asks us for the time tells us our own
    if (saidMs > 0 || content.samples.length > 0) brake.reported(device.asksForTime ? 0 : saidMs, latestMs)
    if (content.samples.length > 0 || saidMs > 0 || this.#refused.length > 0) {
      // a sample without a time of its own has ours, which is newer
      const isOwn = saidMs >= newestMs({ samples: content.samples, lockEvents: NOTHING })
      const isRefused = this.#refused.length > 0
      clockConfirmation.said(device.row.hardwareId, isOwn && !isRefused ? saidMs : 0)
    }
    device.newestReceiveMs = atMs
    if (!clock.isTrusted) {
      device.newestReceiveMs = Math.max(atMs, newestMs(content))
      if (saidMs > 0) clock.heard(device.row.hardwareId, saidMs)
    }
    return content
  }

  /**
   * What becomes of the clock of the device by what it says, and what is added to the times of the message where they
   * tell of now: then the newest of them is that of the receipt.
   */
  #shiftMs(device: Device, { level }: Uplinked, content: UplinkContent, receivedAtMs: number): number {
    const { deviceClocks, isLocating } = this.#deps
    const { samples } = content
    const saidMs = this.#saidMs
    const isSingle = samples.length === 1
    const sentMs = this.#doubtedMs ?? saidMs
    if (level === 'tlm' && sentMs !== 0) deviceClocks.heard(device, sentMs, receivedAtMs, isSingle)
    const aheadMs = saidMs - receivedAtMs
    // what the gateway dated is right
    if (saidMs === 0 || saidMs < newestMs(content)) return 0
    const hasPosition = isSingle && !Number.isNaN(samples[0]?.lat)
    const isAnswer = hasPosition && isLocating(device.row.hardwareId)
    return device.clock.tellsOfNow(aheadMs, isAnswer) ? device.newestReceiveMs - saidMs : 0
  }
}

/** Whether nothing of a message is of use. */
function isEmpty({ samples, lockEvents, status, commandAck, applied }: UplinkContent): boolean {
  return samples.length + lockEvents.length === 0 && status === null && commandAck === null && applied === null
}

/** The newest time of what a message says; 0 when it says nothing that has a time. */
function newestMs({ samples, lockEvents }: Pick<UplinkContent, 'samples' | 'lockEvents'>): number {
  let newestMs = 0
  for (const { atMs } of samples) newestMs = Math.max(newestMs, atMs)
  for (const { atMs } of lockEvents) newestMs = Math.max(newestMs, atMs)
  return newestMs
}

/** Times that the gateway would not believe if its clock were right, if there are any: those after `latestMs`. */
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

/** What cannot be read, or what was refused of it for its time; null if there is nothing of both. */
function quarantineEntry(
  device: Device,
  uplinked: Uplinked,
  unreadable: string | null,
  refused: readonly unknown[],
  receivedAtMs: number,
): NewQuarantineEntry | null {
  if (unreadable === null && refused.length === 0) return null
  const { hardwareId } = device.row
  // a copy of its own: the payload is a view of the socket's whole chunk
  const start = () => new Uint8Array(uplinked.payload.subarray(0, QUARANTINE_BYTES))
  return {
    receivedAtMs,
    hardwareId,
    topic: deviceTopic(hardwareId, uplinked.level),
    reason: unreadable ?? 'implausible_time',
    sizeBytes: uplinked.payload.length,
    // nothing is wrong with the readings themselves: all of them are kept
    payload: unreadable === null ? Buffer.from(JSON.stringify(refused)) : start(),
  }
}
