import { packSample } from '#domain/latest-state.ts'
import type { Sample } from '#domain/telemetry.ts'
import type { Events } from '#gateway/events.ts'
import type { Counter } from '#shared/counter.ts'
import type { AckResult } from '#store/tables/commands.ts'
import { BATTERY_STORED, GPS_STORED, SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { Presence } from '../presence.ts'
import { liveLatestMs, liveSamples, type StoredContent, type UplinkMessage } from './message.ts'
import type { MessageBatch } from './message-batch.ts'
import { crossingOf } from './zone-crossings.ts'

interface AnnounceDeps {
  events: Events
  presence: Presence
  dropped: Counter
}

/** Third stage, right after the acknowledgement: emits the changes of a committed message as events. */
export class StoredPublisher {
  readonly #deps: AnnounceDeps

  constructor(deps: AnnounceDeps) {
    this.#deps = deps
  }

  /** Emits the events of a message; `stored` marks its new parts. */
  announce(message: UplinkMessage, stored: StoredContent): void {
    const { events, presence, dropped } = this.#deps
    const { device, connection, content } = message
    const { hardwareId } = device.row
    events.emit('messageAccepted', { hardwareId })
    this.#announceSamples(message, stored.flags)
    for (const row of message.crossings) events.emit('zoneCrossed', crossingOf(row))
    for (const [i, event] of content.lockEvents.entries()) {
      if (!stored.lockEvents[i]) dropped.add('duplicate')
      else {
        const liveAtMs = event.atMs + message.shiftMs
        const metadataJson = stored.metadata[i] ?? null
        events.emit('lockChanged', { ...event, hardwareId, metadataJson, liveAtMs })
      }
    }
    if (stored.ack !== null) this.#announceAck(stored.ack)
    if (stored.isCallNew) events.emit('called', { hardwareId })
    else if (content.call !== null) dropped.add('duplicate')
    if (message.hasNewFirmware) events.emit('deviceChanged', { hardwareId })
    if (content.status !== null) presence.reported(device, connection, content.status.isOnline)
  }

  announceRun(run: MessageBatch, stored: Uint8Array): void {
    const { events, dropped } = this.#deps
    const { hardwareId, numbers } = run
    events.emit('messageAccepted', { hardwareId })
    for (let i = 0; i < run.rows; i++) {
      const latE7 = numbers[i * SAMPLE_NUMBERS + 2] ?? Number.NaN
      const voltageMv = numbers[i * SAMPLE_NUMBERS + 5] ?? Number.NaN
      if (isRepeated(latE7, voltageMv, stored[i] ?? 0)) dropped.add('duplicate')
    }
    const { device, isInOrder, latestMs } = run
    events.emit('sampled', { device, numbers, recorded: numbers, isInOrder, latestMs })
    if (run.moves.length > 0) events.emit('reported', run)
    for (const i of run.late) {
      if (stored[i] === 0) continue
      const atMs = numbers[i * SAMPLE_NUMBERS + 1] ?? 0
      events.emit('backfilled', { hardwareId, fromMs: atMs, toMs: atMs, count: 1 })
    }
    for (const row of run.crossings) events.emit('zoneCrossed', crossingOf(row))
  }

  #announceSamples(message: UplinkMessage, flags: Uint8Array): void {
    const { device, receivedAtMs, content, moves, late, shiftMs } = message
    if (content.samples.length === 0) return
    const { events, dropped } = this.#deps
    // several samples may share a time
    const isInOrder = content.samples.length === 1
    const recorded = packedByTime(content.samples)
    const numbers = shiftMs === 0 ? recorded : packedByTime(liveSamples(message))
    events.emit('sampled', { device, numbers, recorded, isInOrder, latestMs: liveLatestMs(message) })
    const { hardwareId } = device.row
    for (const [i, sample] of content.samples.entries()) {
      if (isRepeated(sample.lat, sample.voltageV, flags[i] ?? 0)) dropped.add('duplicate')
    }
    if (moves.length > 0) {
      const lastRespondedAtMs = receivedAtMs
      events.emit('reported', { hardwareId, moves, updatedAtMs: receivedAtMs, lastRespondedAtMs })
    }
    if (late.length === 0) return
    const storedMs = late.filter((i) => flags[i] !== 0).map((i) => content.samples[i]?.atMs ?? 0)
    if (storedMs.length === 0) return
    const [fromMs, toMs] = [Math.min(...storedMs), Math.max(...storedMs)]
    events.emit('backfilled', { hardwareId, fromMs, toMs, count: storedMs.length })
  }

  #announceAck(ack: AckResult): void {
    const { events, dropped } = this.#deps
    if ('command' in ack) events.emit('commandAnswered', ack)
    if (ack.outcome === 'repeated') dropped.add('duplicate')
    else if (!('command' in ack)) dropped.add(ack.outcome)
  }
}

function packedByTime(samples: readonly Sample[]): Float64Array {
  const ordered = samples.length === 1 ? samples : [...samples].sort((a, b) => a.atMs - b.atMs)
  const numbers = new Float64Array(ordered.length * SAMPLE_NUMBERS)
  for (const [i, sample] of ordered.entries()) packSample(numbers, i * SAMPLE_NUMBERS, 0, sample)
  return numbers
}

/** True if a reading repeated a stored record and so created none. */
function isRepeated(lat: number, voltage: number, stored: number): boolean {
  const isGpsRepeated = !Number.isNaN(lat) && (stored & GPS_STORED) === 0
  const isBatteryRepeated = !Number.isNaN(voltage) && (stored & BATTERY_STORED) === 0
  return isGpsRepeated || isBatteryRepeated
}
