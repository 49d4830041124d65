import { countDrop, lockStatusValue, markUnverified, mergeValues, packSample } from '#domain/latest-state.ts'
import type { LockEvent } from '#domain/lock-event.ts'
import type { GeofenceEventRow } from '#store/tables/geofence-events.ts'
import type { LockEventIdentity } from '#store/tables/lock-events.ts'
import { encodeStateChanges } from '#store/telemetry/state-changes.ts'
import { SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { AppendBatch, AppendResult } from '#store/writer/append.ts'
import type { Device, ReportedState } from '../fleet.ts'
import type { Geofences } from '../zones/geofences.ts'
import { applyBatch } from './apply-batch.ts'
import { applySamples, copyReported } from './apply-samples.ts'
import { liveLatestMs, liveSamples, type UplinkMessage } from './message.ts'
import type { MessageBatch } from './message-batch.ts'
import { isOfDevice, isRun, type QueuedMessage } from './queued-message.ts'
import { crossings } from './zone-crossings.ts'

interface StateUpdatesDeps {
  geofences: Pick<Geofences, 'watchedOf'>
  isLockEventStored: (event: LockEventIdentity) => boolean
}

/** Encoded, uncommitted transaction: its messages of registered devices, and the next states of those devices. */
interface EncodedBatch {
  live: (UplinkMessage | MessageBatch)[]
  drafts: Map<Device, ReportedState>
  lockEvents: { device: Device; event: LockEvent }[]
}

/**
 * Second stage: encodes messages as rows of a transaction, and applies them to the next states of their devices. A next
 * state becomes visible only when its transaction is committed; each builds on the uncommitted ones before.
 */
export class StateUpdates {
  readonly #deps: StateUpdatesDeps
  /** Encoded transactions that are not yet committed, oldest first. */
  readonly #pending: EncodedBatch[] = []

  constructor(deps: StateUpdatesDeps) {
    this.#deps = deps
  }

  encode(messages: readonly QueuedMessage[]): AppendBatch {
    const live = messages.filter(isOfDevice).filter(({ device }) => device.isRegistered)
    const encoded: EncodedBatch = { live, drafts: new Map(), lockEvents: [] }
    this.#pending.push(encoded)
    const sampleCount = live.reduce((count, message) => count + samplesIn(message), 0)
    const samples = new Float64Array(sampleCount * SAMPLE_NUMBERS)
    const batch: AppendBatch = {
      samples,
      stateChanges: new Uint8Array(),
      lockEvents: [],
      quarantined: [],
      commandAcks: [],
      sessionChanges: [],
    }
    for (const message of messages) {
      // messages of a deleted device are not stored
      if (isOfDevice(message) && !message.device.isRegistered) continue
      if (message.sessionChanges.length > 0) batch.sessionChanges.push(...message.sessionChanges)
    }
    let at = 0
    for (const message of live) {
      if (isRun(message)) {
        this.#draftRun(message, encoded, batch)
        samples.set(message.numbers, at)
        at += message.rows * SAMPLE_NUMBERS
        continue
      }
      this.#draft(message, encoded)
      for (const sample of message.content.samples) {
        packSample(samples, at, message.device.row.deviceId, sample)
        at += SAMPLE_NUMBERS
      }
      encodeRest(message, encoded, batch)
    }
    const changes = Array.from(encoded.drafts, ([device, after]) => ({
      deviceId: device.row.deviceId,
      before: this.#newest(device, encoded.drafts),
      after,
    }))
    batch.stateChanges = encodeStateChanges(changes)
    return batch
  }

  /** Makes the oldest transaction's next states current, and marks the new parts of its messages, which it returns. */
  committed(result: AppendResult): readonly (UplinkMessage | MessageBatch)[] {
    const encoded = this.#pending.shift()
    if (encoded === undefined) throw new Error('committed without encode')
    for (const [device, draft] of encoded.drafts) device.reported = draft
    let sampleAt = 0
    let lockEventAt = 0
    let ackAt = 0
    let callAt = 0
    for (const message of encoded.live) {
      if (isRun(message)) {
        message.stored = result.sampleFlags.subarray(sampleAt, sampleAt + message.rows)
        sampleAt += message.rows
        continue
      }
      const { samples, lockEvents, commandAck, call } = message.content
      message.stored = {
        flags: result.sampleFlags.subarray(sampleAt, sampleAt + samples.length),
        lockEvents: result.lockEventStored.slice(lockEventAt, lockEventAt + lockEvents.length),
        metadata: result.lockEventMetadata.slice(lockEventAt, lockEventAt + lockEvents.length),
        ack: commandAck === null ? null : (result.commandAcks[ackAt++] ?? null),
        isCallNew: call !== null && result.callStored[callAt++] === true,
      }
      sampleAt += samples.length
      lockEventAt += lockEvents.length
    }
    return encoded.live
  }

  /** Drops everything that is encoded and not committed. */
  discard(): void {
    this.#pending.length = 0
  }

  /** Applies a message to the next state of its device, and records in the message what will be published. */
  #draft(message: UplinkMessage, { drafts }: EncodedBatch): void {
    const { device, receivedAtMs, latestMs, content, isResponse, shiftMs } = message
    const draft = this.#draftOf(device, drafts)
    const { moves, late } = applySamples(draft, content.samples, receivedAtMs, latestMs, shiftMs)
    message.moves = moves
    message.late = late
    const seen = crossings(draft.watch, this.#deps.geofences.watchedOf(device.row.groupId), {
      device,
      liveFromMs: message.liveFromMs,
      samples: liveSamples(message),
      latestMs: liveLatestMs(message),
    })
    message.crossings = seen.events
    draft.watch = seen.state
    const reported = new Set<string>()
    for (const event of content.lockEvents) {
      // otherwise a repeated event without a timestamp would set the lock to its former state
      if (reported.has(event.identity) || this.#isKnown(device, event)) {
        countDrop(draft.state, 'duplicate', 1)
        continue
      }
      reported.add(event.identity)
      const isLocked = event.event === 'lock'
      const values = { lock_status: lockStatusValue(draft.state, isLocked) }
      mergeValues(draft.state, event.atMs + shiftMs, values, liveLatestMs(message))
    }
    if (content.status !== null && isResponse) {
      const { fw } = draft.state.status ?? {}
      const { isOnline, fields } = content.status
      // a device that leaves gives no version, but keeps it
      draft.state.status = isOnline || fw === undefined ? fields : { fw, ...fields }
      message.hasNewFirmware = draft.state.status.fw !== fw
    }
    const { cfg, sz } = content.applied ?? {}
    if (cfg !== undefined) draft.state.applied.cfg = { version: cfg, atMs: receivedAtMs }
    if (sz !== undefined) draft.state.applied.sz = { version: sz, atMs: receivedAtMs }
    for (const { reason, count } of message.drops) countDrop(draft.state, reason, count)
    if (device.asksForTime) draft.state.asksForTime = true
    if (message.unverified !== null) markUnverified(draft.state, message.unverified)
    draft.updatedAtMs = receivedAtMs
    if (isResponse) draft.lastRespondedAtMs = receivedAtMs
  }

  #draftRun(run: MessageBatch, { drafts }: EncodedBatch, batch: AppendBatch): void {
    const { device } = run
    const draft = this.#draftOf(device, drafts)
    applyBatch(draft, run, this.#deps.geofences.watchedOf(device.row.groupId))
    encodeCrossings(run.crossings, batch)
  }

  #draftOf(device: Device, drafts: Map<Device, ReportedState>): ReportedState {
    let draft = drafts.get(device)
    if (draft === undefined) {
      draft = copyReported(this.#newest(device, drafts))
      drafts.set(device, draft)
    }
    return draft
  }

  /** Returns the state of the device after the commit of all transactions before that of `drafts`. */
  #newest(device: Device, drafts: Map<Device, ReportedState>): ReportedState {
    let newest = device.reported
    for (const pending of this.#pending) {
      if (pending.drafts !== drafts) newest = pending.drafts.get(device) ?? newest
    }
    return newest
  }

  /** True if the event is stored, or contained in an earlier message that is not yet committed. */
  #isKnown(device: Device, event: LockEvent): boolean {
    for (const { lockEvents } of this.#pending) {
      for (const earlier of lockEvents) {
        if (earlier.device === device && earlier.event.identity === event.identity) return true
      }
    }
    return this.#deps.isLockEventStored({ ...device.row, identity: event.identity })
  }
}

/** Adds everything but the samples of a message to the transaction. */
function encodeRest(
  { device, receivedAtMs, content, crossings, quarantine, shiftMs }: UplinkMessage,
  encoded: EncodedBatch,
  batch: AppendBatch,
): void {
  const { hardwareId, shortId } = device.row
  for (const event of content.lockEvents) {
    batch.lockEvents.push({ ...event, hardwareId, shortId })
    encoded.lockEvents.push({ device, event })
  }
  // history keeps the times sent by the device
  const stored = shiftMs === 0 ? crossings : crossings.map((row) => ({ ...row, atMs: row.atMs - shiftMs }))
  encodeCrossings(stored, batch)
  if (content.commandAck !== null) {
    batch.commandAcks.push({ ...content.commandAck, hardwareId, atMs: receivedAtMs })
  }
  if (content.call !== null) {
    // its alert shows the time by a correct clock
    const atMs = content.call.atMs + shiftMs
    batch.calls ??= []
    batch.calls.push({ ...content.call, atMs, hardwareId, shortId, receivedAtMs })
  }
  if (quarantine !== null) batch.quarantined.push(quarantine)
}

function encodeCrossings(crossings: readonly GeofenceEventRow[], batch: AppendBatch): void {
  if (crossings.length === 0) return
  batch.geofenceEvents ??= []
  batch.geofenceEvents.push(...crossings)
}

function samplesIn(message: UplinkMessage | MessageBatch): number {
  return isRun(message) ? message.rows : message.content.samples.length
}
