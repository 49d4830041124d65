import type { SessionChange } from '#domain/mqtt-sessions.ts'
import { GATEWAY } from '#domain/origin.ts'
import type { Events } from '#gateway/events.ts'
import { Counter } from '#shared/counter.ts'
import type { Log } from '#shared/log.ts'
import { deviceTopic } from '#shared/wire/mqtt.ts'
import type { Store } from '#store/store.ts'
import type { NewQuarantineEntry } from '#store/tables/quarantine.ts'
import type { AppendBatch, AppendResult } from '#store/writer/append.ts'
import type { Appender } from '#store/writer/appender.ts'
import type { CommitQueue } from '#store/writer/commit-queue.ts'
import type { WriterRequest } from '#store/writer/messages.ts'
import type { ClockConfirmation } from '../clock/confirmation.ts'
import { DeviceClocks } from '../clock/device-clocks.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { TimestampTrustLimiter } from '../clock/timestamp-trust-limiter.ts'
import type { Device } from '../fleet.ts'
import type { DeviceConnection, Presence } from '../presence.ts'
import type { Geofences } from '../zones/geofences.ts'
import { FastParser } from './fast-parser.ts'
import type { Uplinked, UplinkMessage } from './message.ts'
import { type BatchSource, MessageBatch } from './message-batch.ts'
import { MessageParser } from './message-parser.ts'
import { StateUpdates } from './next-state.ts'
import { publishStored } from './publish-stored.ts'
import { isOfDevice, isRun, isUplink, type QueuedMessage } from './queued-message.ts'
import { RunColumns } from './run-columns.ts'

interface IngestDeps {
  store: Pick<Store<QueuedMessage>, 'queue' | 'read'>
  presence: Presence
  events: Events
  geofences: Pick<Geofences, 'watchedOf'>
  clock: GatewayClock
  brake: Pick<TimestampTrustLimiter, 'reported'>
  clockConfirmation: Pick<ClockConfirmation, 'said'>
  /** Whether a device has been asked where it is and has not answered. */
  isLocating: (hardwareId: string) => boolean
  log: Log
}

/**
 * The way of a device's message, in three moments: `accept` parses and queues it; `draft` makes it into the rows of a
 * transaction, with all that arrived meanwhile; once that is committed it shows in the latest state and is
 * acknowledged, and `announce` tells of it. Plain readings come in runs, read in place: see `Run`.
 */
export class Ingest implements Appender<QueuedMessage> {
  /** Messages by outcome, and what was dropped of them by reason. */
  readonly messages = new Counter()
  readonly dropped = new Counter()
  /** Times that were stored although nobody could judge them. */
  unverifiedTimes = 0
  readonly #queue: CommitQueue<QueuedMessage>
  readonly #clock: GatewayClock
  readonly #brake: Pick<TimestampTrustLimiter, 'reported'>
  readonly #clockConfirmation: Pick<ClockConfirmation, 'said'>
  readonly #log: Log
  readonly #deviceClocks: DeviceClocks
  readonly #accept: MessageParser
  readonly #drafts: StateUpdates
  readonly #announce: publishStored
  readonly #reader = new FastParser()
  #columns = new RunColumns()

  constructor(deps: IngestDeps) {
    const { store, log, clock, brake, clockConfirmation, geofences, events, presence } = deps
    this.#queue = store.queue
    this.#clock = clock
    this.#brake = brake
    this.#clockConfirmation = clockConfirmation
    this.#log = log
    this.#deviceClocks = new DeviceClocks({ clock, events, log })
    const { dropped } = this
    this.#accept = new MessageParser({ ...deps, deviceClocks: this.#deviceClocks, dropped })
    this.#drafts = new StateUpdates({ geofences, isLockEventStored: store.read.isLockEventStored })
    this.#announce = new publishStored({ events, presence, dropped: this.dropped })
  }

  /** Makes the rows of what is queued from now on; there is nothing to stop: the queue stores what it has. */
  async start(): Promise<void> {
    this.#queue.attach(this)
  }

  /**
   * Takes a message; `onStored` is called when it is on the disk. A QoS 0 message that finds the queue full is dropped,
   * and `onStored` is called all the same: the client has had its acknowledgement. `onRefused` is called instead when
   * the
   * store will not take the message: what is not on the disk is not acknowledged. `sessionChanges` are written with it.
   * Returns how many samples and events the message holds, at least 1, and how many of them are lock events.
   */
  accept(
    device: Device,
    connection: DeviceConnection | null,
    uplinked: Uplinked,
    sessionChanges: readonly SessionChange[],
    onStored: () => void,
    onRefused: (reason: string) => void,
  ): { items: number; lockEvents: number } {
    this.messages.add('received')
    if (uplinked.qos === 0 && this.#queue.isFull && sessionChanges.length === 0) {
      this.dropped.add('queue_full')
      this.note(device, uplinked, 'queue_full')
      onStored()
      return { items: 1, lockEvents: 0 }
    }
    const message = this.#accept.accept(device, connection, uplinked, sessionChanges, onStored, onRefused)
    this.#queue.append(message)
    const { content, drops, unverified } = message
    this.unverifiedTimes += unverified?.count ?? 0
    const lockEvents = content.lockEvents.length
    // what is not stored had to be read as well
    const dropped = drops.reduce((count, drop) => count + drop.count, 0)
    return { items: Math.max(1, content.samples.length + lockEvents + dropped), lockEvents }
  }

  /**
   * Begins a run of the device: messages that are read in place and queued together. Undefined while each has to be
   * looked at more closely, because the clock is in doubt, that of the device is wrong, or the device is gone.
   */
  beginRun(source: BatchSource): MessageBatch | undefined {
    const receivedAtMs = this.#clock.nowMs()
    const { isRegistered, clock } = source.device
    if (!this.#clock.isTrusted || !isRegistered || clock.offMs !== null) return undefined
    if (!this.#columns.hasRoomForRun) this.#columns = new RunColumns()
    const latestMs = this.#clock.latestEventMs(receivedAtMs)
    return new MessageBatch(source, {
      columns: this.#columns,
      reader: this.#reader,
      receivedAtMs,
      latestMs,
      onEnd: this.#acceptRun,
    })
  }

  /** The same as `accept` for each of its messages. */
  readonly #acceptRun = (run: MessageBatch): void => {
    const { device, newestMs, latestMs, rows } = run
    this.messages.add('received', rows)
    this.#brake.reported(device.asksForTime ? 0 : newestMs, latestMs)
    this.#clockConfirmation.said(device.row.hardwareId, newestMs)
    this.#deviceClocks.heard(device, newestMs, run.receivedAtMs, rows === 1)
    run.note(deviceTopic(device.row.hardwareId, 'tlm'))
    this.#queue.append(run)
  }

  encode(messages: readonly QueuedMessage[]): AppendBatch {
    return this.#drafts.encode(messages)
  }

  committed(messages: readonly QueuedMessage[], result: AppendResult): void {
    const stored = countOf(this.#drafts.committed(result))
    this.messages.add('stored', stored)
    const removed = countOf(messages.filter(isOfDevice)) - stored
    if (removed > 0) this.dropped.add('device_removed', removed)
  }

  announce(message: QueuedMessage): void {
    if (isRun(message)) {
      message.noteStored()
      if (message.stored !== null) this.#announce.announceRun(message, message.stored)
    } else if (isUplink(message)) {
      if (message.noted?.result === 'waiting') message.noted.result = 'stored'
      if (message.stored !== null) this.#announce.announce(message, message.stored)
    }
  }

  /** Keeps a message that was not made into anything for who looks at the device's messages. */
  note(device: Device, { level, payload }: Pick<Uplinked, 'level' | 'payload'>, result: string): void {
    const topic = deviceTopic(device.row.hardwareId, level)
    device.recent.take({ atMs: this.#clock.nowMs(), topic, result }, payload)
  }

  split(message: QueuedMessage): readonly QueuedMessage[] {
    return isRun(message) ? message.split() : [message]
  }

  discarded(): void {
    this.#drafts.discard()
  }

  refused(message: QueuedMessage, reason: string): void {
    const sender = isUplink(message) ? { hardwareId: message.device.row.hardwareId } : {}
    this.#log.error({ ...sender, reason }, 'the store refused a message')
    this.dropped.add('store_refused')
    if (isUplink(message) && message.noted !== undefined) message.noted.result = 'not_stored'
    message.onRefused('not_stored')
  }

  /** Into the quarantine: its sender would come back with it for ever. */
  rescue(message: QueuedMessage): WriterRequest | null {
    if (!isUplink(message)) return null
    this.dropped.add('store_damaged')
    const { sessionChanges } = message
    const input = { entry: refusedEntry(message), sessionChanges }
    return { kind: 'write', name: 'quarantineMessage', input, origin: { ...GATEWAY, atMs: this.#clock.nowMs() } }
  }
}

function countOf(messages: readonly QueuedMessage[]): number {
  return messages.reduce((count, message) => count + (isRun(message) ? message.rows : 1), 0)
}

/** A message that could not be stored because of damage, for the quarantine: all that was read from it, as JSON. */
function refusedEntry({ quarantine, content, device, level, receivedAtMs }: UplinkMessage): NewQuarantineEntry {
  if (quarantine !== null) return quarantine
  const { hardwareId } = device.row
  const payload = new TextEncoder().encode(JSON.stringify(content))
  const reason = 'store_damaged'
  return {
    receivedAtMs,
    hardwareId,
    topic: deviceTopic(hardwareId, level),
    reason,
    sizeBytes: payload.length,
    payload,
  }
}
