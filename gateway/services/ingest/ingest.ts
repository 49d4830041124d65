import { receiveTimeMs } from '#domain/event-time.ts'
import { countDrop, lockStatusValue, mergeValues, newestEventMs, packSample } from '#domain/latest-state.ts'
import type { LockEvent } from '#domain/lock-event.ts'
import type { SessionChange } from '#domain/mqtt-sessions.ts'
import type { Sample } from '#domain/telemetry.ts'
import type { Events } from '#gateway/events.ts'
import type { Log } from '#shared/log.ts'
import { Tally } from '#shared/tally.ts'
import { deviceTopic, type Uplink } from '#shared/wire/mqtt.ts'
import type { AckResult } from '#store/commands.ts'
import type { GeofenceEventRow } from '#store/geofence-events.ts'
import {
  type AppendBatch,
  type AppendResult,
  BATTERY_STORED,
  GPS_STORED,
  type NewQuarantineEntry,
  SAMPLE_NUMBERS,
} from '#store/writer/append.ts'
import type { Appendable, Appender, CommitQueue } from '#store/writer/commit-queue.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Device, Reported } from '../fleet.ts'
import type { Geofences } from '../geofences.ts'
import type { DeviceConnection, Presence } from '../presence.ts'
import { copyReported, type Move, moveOn } from './reported-draft.ts'
import { parseUplink, type UplinkContent } from './uplink-parser.ts'
import { crossingOf, crossings, liveFromMs } from './zone-crossings.ts'

/** A device's message on its way to the disk. */
export interface UplinkMessage extends Appendable {
  device: Device
  connection: DeviceConnection | null
  receivedAtMs: number
  /** No event time after this can be believed, not even a known one. */
  latestMs: number
  /** False for a last will, which the broker sends and not the device. */
  isResponse: boolean
  content: UplinkContent
  drops: readonly Drop[]
  quarantine: NewQuarantineEntry | null
  /** What moves the state, found by `encode` and told by `committed`. */
  moves: readonly Move[]
  /** Places in `content.samples` of those that only go to history. */
  late: readonly number[]
  /** Positions before this are too old to be watched. */
  liveFromMs: number
  /** Zones entered and left, found by `encode` and told once it is committed. */
  crossings: readonly GeofenceEventRow[]
  /** What of it was new to the store; null until it is committed. */
  stored: StoredContent | null
}

interface StoredContent {
  flags: Uint8Array
  lockEvents: readonly boolean[]
  /** Of each lock event, what the command that caused it said for it. */
  metadata: readonly (string | null)[]
  ack: AckResult | null
}

/** What waits for the disk: a device's message, or what the broker alone has to write. */
export type QueuedMessage = UplinkMessage | Appendable

interface Drop {
  reason: string
  count: number
}

/** A message as the broker hands it over. */
export interface Uplinked {
  level: Uplink
  payload: Buffer
  qos: 0 | 1 | 2
  isWill: boolean
}

interface IngestDeps {
  queue: CommitQueue<QueuedMessage>
  presence: Presence
  events: Events
  isLockEventStored: (hardwareId: string, identity: string) => boolean
  geofences: Pick<Geofences, 'watchedOf'>
  clock: GatewayClock
  log: Log
}

const QUARANTINE_BYTES = 4096

const NOTHING: readonly never[] = []

/**
 * The way of a device's message: parsed, queued, written with all that arrived meanwhile, and only then shown
 * (latest state, then events) and acknowledged.
 */
export class Ingest implements Appender<QueuedMessage> {
  /** Messages by outcome, and what was dropped of them by reason. */
  readonly messages = new Tally()
  readonly dropped = new Tally()
  readonly #deps: IngestDeps
  /** Batches that are encoded and not yet committed, oldest first. */
  readonly #pending: EncodedBatch[] = []
  #drops: Drop[] = []

  constructor(deps: IngestDeps) {
    this.#deps = deps
  }

  /**
   * Takes a message; `onStored` is called when it is on the disk. A QoS 0 message that finds the queue full is dropped,
   * and `onStored` is called all the same: nobody waits for an acknowledgement. `onRefused` is called instead when the
   * store will not take the message: what is not on the disk is not acknowledged. `sessionChanges` are written with it.
   */
  accept(
    device: Device,
    connection: DeviceConnection | null,
    uplinked: Uplinked,
    sessionChanges: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): void {
    const { queue, clock } = this.#deps
    this.messages.add('received')
    if (uplinked.qos === 0 && queue.isFull && sessionChanges.length === 0) {
      this.dropped.add('queue_full')
      onStored()
      return
    }
    const receivedAtMs = clock.nowMs()
    const latestMs = clock.latestEventMs(receivedAtMs)
    const content = this.#parse(device, uplinked, receivedAtMs, latestMs)
    const drops = this.#drops.length === 0 ? NOTHING : this.#drops.splice(0)
    const { samples, lockEvents, unreadable } = content
    queue.append({
      rows: Math.max(1, samples.length + lockEvents.length + sessionChanges.length),
      sessionChanges,
      device,
      connection,
      receivedAtMs,
      latestMs,
      isResponse: !uplinked.isWill,
      content,
      drops,
      quarantine: unreadable === null ? null : quarantineEntry(device, uplinked, unreadable, receivedAtMs),
      onStored: () => {
        if (device.isRegistered) onStored()
        else onRefused('device_removed')
      },
      onRefused,
      moves: NOTHING,
      late: NOTHING,
      liveFromMs: liveFromMs(samples, receivedAtMs, clock.isTrusted),
      crossings: NOTHING,
      stored: null,
    })
  }

  encode(messages: readonly QueuedMessage[]): AppendBatch {
    const live = messages.filter(isUplink).filter(({ device }) => device.isRegistered)
    const encoded: EncodedBatch = { live, drafts: new Map(), watched: new Set(), lockEvents: [] }
    this.#pending.push(encoded)
    const sampleCount = live.reduce((count, { content }) => count + content.samples.length, 0)
    const samples = new Float64Array(sampleCount * SAMPLE_NUMBERS)
    const batch: AppendBatch = {
      samples,
      states: [],
      lockEvents: [],
      quarantined: [],
      commandAcks: [],
      sessionChanges: [],
    }
    for (const message of messages) {
      // what a deleted device says is kept for nobody
      if (isUplink(message) && !message.device.isRegistered) continue
      if (message.sessionChanges.length > 0) batch.sessionChanges.push(...message.sessionChanges)
    }
    let at = 0
    for (const message of live) {
      this.#draft(message, encoded)
      for (const sample of message.content.samples) {
        packSample(samples, at, message.device.row.deviceId, sample)
        at += SAMPLE_NUMBERS
      }
      this.#encodeRest(message, encoded, batch)
    }
    for (const [device, { state, updatedAtMs, lastRespondedAtMs, watch }] of encoded.drafts) {
      const latestJson = JSON.stringify(state)
      const watched = encoded.watched.has(device) ? { watchJson: JSON.stringify(watch) } : {}
      batch.states.push({
        deviceId: device.row.deviceId,
        latestJson,
        updatedAtMs,
        lastRespondedAtMs,
        ...watched,
      })
    }
    return batch
  }

  #encodeRest(
    { device, receivedAtMs, content, crossings, quarantine }: UplinkMessage,
    encoded: EncodedBatch,
    batch: AppendBatch,
  ): void {
    for (const event of content.lockEvents) {
      batch.lockEvents.push({ ...event, hardwareId: device.row.hardwareId })
      encoded.lockEvents.push({ device, event })
    }
    if (crossings.length > 0) {
      batch.geofenceEvents ??= []
      batch.geofenceEvents.push(...crossings)
    }
    if (content.commandAck !== null) {
      const { hardwareId } = device.row
      batch.commandAcks.push({ ...content.commandAck, hardwareId, atMs: receivedAtMs })
    }
    if (quarantine !== null) batch.quarantined.push(quarantine)
  }

  committed(messages: readonly QueuedMessage[], result: AppendResult): void {
    const encoded = this.#pending.shift()
    if (encoded === undefined) throw new Error('committed without encode')
    for (const [device, draft] of encoded.drafts) device.reported = draft
    let sampleAt = 0
    let lockEventAt = 0
    let ackAt = 0
    for (const message of encoded.live) {
      const { samples, lockEvents, commandAck } = message.content
      message.stored = {
        flags: result.sampleFlags.subarray(sampleAt, sampleAt + samples.length),
        lockEvents: result.lockEventStored.slice(lockEventAt, lockEventAt + lockEvents.length),
        metadata: result.lockEventMetadata.slice(lockEventAt, lockEventAt + lockEvents.length),
        ack: commandAck === null ? null : (result.commandAcks[ackAt++] ?? null),
      }
      sampleAt += samples.length
      lockEventAt += lockEvents.length
    }
    this.messages.add('stored', encoded.live.length)
    const removed = messages.filter(isUplink).length - encoded.live.length
    if (removed > 0) this.dropped.add('device_removed', removed)
  }

  announce(message: QueuedMessage): void {
    if (!isUplink(message)) return
    const { device, connection, content, stored } = message
    if (stored === null) return
    this.#deps.events.emit('heard', { hardwareId: device.row.hardwareId })
    this.#announceSamples(message, stored.flags)
    for (const row of message.crossings) this.#deps.events.emit('zoneCrossed', crossingOf(row))
    for (const [i, event] of content.lockEvents.entries()) {
      if (stored.lockEvents[i]) {
        const metadataJson = stored.metadata[i] ?? null
        this.#deps.events.emit('lockChanged', { ...event, hardwareId: device.row.hardwareId, metadataJson })
      } else {
        this.dropped.add('duplicate')
      }
    }
    if (stored.ack !== null) this.#announceAck(stored.ack)
    if (content.status !== null) this.#deps.presence.said(device, connection, content.status.isOnline)
  }

  #announceAck(ack: AckResult): void {
    if ('command' in ack) this.#deps.events.emit('commandAnswered', ack)
    if (ack.outcome === 'repeated') this.dropped.add('duplicate')
    else if (!('command' in ack)) this.dropped.add(ack.outcome)
  }

  discarded(): void {
    this.#pending.length = 0
  }

  refused(message: QueuedMessage, reason: string): void {
    const sender = isUplink(message) ? { hardwareId: message.device.row.hardwareId } : {}
    this.#deps.log.error({ ...sender, reason }, 'message refused by the store')
    this.dropped.add('store_refused')
    message.onRefused('not_stored')
  }

  readonly #onDrop = (reason: string, count = 1): void => {
    this.#drops.push({ reason, count })
    this.dropped.add(reason, count)
  }

  #parse(device: Device, uplinked: Uplinked, receivedAtMs: number, latestMs: number): UplinkContent {
    const { clock } = this.#deps
    if (!clock.isTrusted) {
      // what the device said last is later than anything we could guess
      device.newestReceiveMs = Math.max(device.newestReceiveMs, newestEventMs(device.reported.state))
    }
    const atMs = receiveTimeMs(receivedAtMs, device.newestReceiveMs, latestMs)
    const content = parseUplink(uplinked.level, uplinked.payload, atMs, latestMs, this.#onDrop)
    device.newestReceiveMs = atMs
    if (!clock.isTrusted) {
      const saidMs = newestMs(content)
      device.newestReceiveMs = Math.max(atMs, saidMs)
      if (saidMs !== atMs) clock.heard(device.row.hardwareId, saidMs)
    }
    return content
  }

  /** Moves the draft of the message's device on, and notes in the message what there will be to tell. */
  #draft(message: UplinkMessage, { drafts, watched }: EncodedBatch): void {
    const { device, receivedAtMs, latestMs, content, isResponse } = message
    let draft = drafts.get(device)
    if (draft === undefined) {
      draft = copyReported(this.#newest(device, drafts))
      drafts.set(device, draft)
    }
    const { moves, late } = moveOn(draft, content.samples, receivedAtMs, latestMs)
    message.moves = moves
    message.late = late
    const seen = crossings(draft.watch, this.#deps.geofences.watchedOf(device.row.groupId), message)
    message.crossings = seen.events
    if (seen.state !== draft.watch) {
      draft.watch = seen.state
      watched.add(device)
    }
    for (const event of content.lockEvents) {
      // an event that comes again without a time would otherwise set the lock to what it was then
      if (this.#isKnown(device, event)) continue
      const isLocked = event.event === 'lock'
      const values = { lock_status: lockStatusValue(draft.state, isLocked) }
      mergeValues(draft.state, event.atMs, values, latestMs)
    }
    if (content.status !== null && isResponse) draft.state.status = content.status.fields
    const { cfg, sz } = content.applied ?? {}
    if (cfg !== undefined) draft.state.applied.cfg = { version: cfg, atMs: receivedAtMs }
    if (sz !== undefined) draft.state.applied.sz = { version: sz, atMs: receivedAtMs }
    for (const { reason, count } of message.drops) countDrop(draft.state, reason, count)
    draft.updatedAtMs = receivedAtMs
    if (isResponse) draft.lastRespondedAtMs = receivedAtMs
  }

  /** The device as it will be when all batches before the one of `drafts` are committed. */
  #newest(device: Device, drafts: Map<Device, Reported>): Reported {
    let newest = device.reported
    for (const pending of this.#pending) {
      if (pending.drafts !== drafts) newest = pending.drafts.get(device) ?? newest
    }
    return newest
  }

  /** Whether the event is stored, or about to be: reported by an earlier message of a batch not yet committed. */
  #isKnown(device: Device, event: LockEvent): boolean {
    for (const { lockEvents } of this.#pending) {
      for (const earlier of lockEvents) {
        if (earlier.device === device && earlier.event.identity === event.identity) return true
      }
    }
    return this.#deps.isLockEventStored(device.row.hardwareId, event.identity)
  }

  #announceSamples({ device, receivedAtMs, content, moves, late }: UplinkMessage, flags: Uint8Array): void {
    const { events } = this.#deps
    const { hardwareId } = device.row
    for (const [i, sample] of content.samples.entries()) {
      if (isRepeated(sample, flags[i] ?? 0)) this.dropped.add('duplicate')
    }
    for (const { atMs, values } of moves) {
      const lastRespondedAtMs = receivedAtMs
      events.emit('reported', { hardwareId, values, atMs, updatedAtMs: receivedAtMs, lastRespondedAtMs })
    }
    if (late.length === 0) return
    const storedMs = late.filter((i) => flags[i] !== 0).map((i) => content.samples[i]?.atMs ?? 0)
    if (storedMs.length === 0) return
    const [fromMs, toMs] = [Math.min(...storedMs), Math.max(...storedMs)]
    events.emit('backfilled', { hardwareId, fromMs, toMs, count: storedMs.length })
  }
}

function isUplink(message: QueuedMessage): message is UplinkMessage {
  return 'device' in message
}

/** A batch in the writer's hands: its messages of registered devices, and those devices as they will be. */
interface EncodedBatch {
  live: UplinkMessage[]
  drafts: Map<Device, Reported>
  /** Those of the devices that are known to be somewhere else among the zones. */
  watched: Set<Device>
  lockEvents: { device: Device; event: LockEvent }[]
}

/** Whether a reading that makes a record made none: it was there before. */
function isRepeated(sample: Sample, stored: number): boolean {
  const isGpsRepeated = !Number.isNaN(sample.lat) && (stored & GPS_STORED) === 0
  const isBatteryRepeated = !Number.isNaN(sample.voltageV) && (stored & BATTERY_STORED) === 0
  return isGpsRepeated || isBatteryRepeated
}

/** The newest time of what a message says; 0 when it says nothing that has a time. */
function newestMs({ samples, lockEvents }: UplinkContent): number {
  let newestMs = 0
  for (const { atMs } of samples) newestMs = Math.max(newestMs, atMs)
  for (const { atMs } of lockEvents) newestMs = Math.max(newestMs, atMs)
  return newestMs
}

function quarantineEntry(
  device: Device,
  uplinked: Uplinked,
  reason: string,
  receivedAtMs: number,
): NewQuarantineEntry {
  const { hardwareId } = device.row
  return {
    receivedAtMs,
    hardwareId,
    topic: deviceTopic(hardwareId, uplinked.level),
    reason,
    sizeBytes: uplinked.payload.length,
    // a copy of its own: the payload is a view of the socket's whole chunk
    payload: new Uint8Array(uplinked.payload.subarray(0, QUARANTINE_BYTES)),
  }
}
