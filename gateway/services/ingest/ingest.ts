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
import { isOfDevice, isRun, isUplink, type QueuedMessage } from './queued-message.ts'
import { RunColumns } from './run-columns.ts'
import { StoredPublisher } from './stored-publisher.ts'

interface IngestDeps {
  store: Pick<Store<QueuedMessage>, 'queue' | 'read'>
  presence: Presence
  events: Events
  geofences: Pick<Geofences, 'watchedOf'>
  clock: GatewayClock
  brake: Pick<TimestampTrustLimiter, 'reported'>
  clockConfirmation: Pick<ClockConfirmation, 'reported' | 'isConfirmed'>
  /** True if a position request was sent to the device and has no response yet. */
  isLocating: (hardwareId: string) => boolean
  log: Log
}

/**
 * Path of a device's message, in three stages: `accept` parses and queues it; `encode` makes rows of a transaction from
 * it and all messages received meanwhile; once that is committed, the latest state is updated, the message is
 * acknowledged, and `announce` publishes it. Plain readings are batched and parsed in place: see `MessageBatch`.
 */
export class Ingest implements Appender<QueuedMessage> {
  readonly messages = new Counter()
  readonly dropped = new Counter()
  /** Number of timestamps that were stored although they could not be verified. */
  unverifiedTimes = 0
  readonly #queue: CommitQueue<QueuedMessage>
  readonly #clock: GatewayClock
  readonly #brake: Pick<TimestampTrustLimiter, 'reported'>
  readonly #clockConfirmation: Pick<ClockConfirmation, 'reported' | 'isConfirmed'>
  readonly #log: Log
  readonly #deviceClocks: DeviceClocks
  readonly #accept: MessageParser
  readonly #drafts: StateUpdates
  readonly #announce: StoredPublisher
  readonly #reader = new FastParser()
  #columns = new RunColumns()

  constructor(deps: IngestDeps) {
    const { store, log, clock, brake, clockConfirmation, geofences, events, presence } = deps
    this.#queue = store.queue
    this.#clock = clock
    this.#brake = brake
    this.#clockConfirmation = clockConfirmation
    this.#log = log
    this.#deviceClocks = new DeviceClocks({ clock, clockConfirmation, events, log })
    const { dropped } = this
    this.#accept = new MessageParser({ ...deps, deviceClocks: this.#deviceClocks, dropped })
    this.#drafts = new StateUpdates({ geofences, isLockEventStored: store.read.isLockEventStored })
    this.#announce = new StoredPublisher({ events, presence, dropped: this.dropped })
  }

  /** Attaches to the queue. A stop is not needed: the queue stores what it has. */
  async start(): Promise<void> {
    this.#queue.attach(this)
  }

  /**
   * Takes a message; `onStored` is called when it is on the disk. A QoS 0 message that finds the queue full is dropped,
   * and `onStored` called anyway: the client expects no acknowledgement. `onRefused` is called instead if the store
   * refuses the message: only stored messages are acknowledged. `sessionChanges` are written in the same transaction.
   * Returns the number of samples and events in the message, at least 1, and of its lock events.
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
    // dropped items took time to parse too
    const dropped = drops.reduce((count, drop) => count + drop.count, 0)
    return { items: Math.max(1, content.samples.length + lockEvents + dropped), lockEvents }
  }

  /**
   * Begins a batch of messages of the device, parsed in place and queued together. Undefined while each message needs
   * the full parser, because the gateway's clock is in doubt, that of the device is wrong, or it was removed.
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

  /** Does the same as `accept` for each message of the batch. */
  readonly #acceptRun = (run: MessageBatch): void => {
    const { device, newestMs, latestMs, rows } = run
    this.messages.add('received', rows)
    this.#brake.reported(device.asksForTime ? 0 : newestMs, latestMs)
    this.#clockConfirmation.reported(device.row.hardwareId, newestMs)
    this.#deviceClocks.received(device, newestMs, run.receivedAtMs, rows === 1)
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

  /** Records a message without effect in the list of the device's recent messages. */
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
    this.#log.error({ ...sender, reason }, 'message refused by the store')
    this.dropped.add('store_refused')
    if (isUplink(message) && message.noted !== undefined) message.noted.result = 'not_stored'
    message.onRefused('not_stored')
  }

  /** Quarantines a message, since its sender would otherwise repeat it permanently. */
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

/** Builds the quarantine entry of a message that damage kept from being stored: all its parsed content, as JSON. */
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
