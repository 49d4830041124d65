import { packSample } from '#domain/latest-state.ts'
import type { Sample } from '#domain/telemetry.ts'
import { importedBattery, importedGps } from '#domain/telemetry-import.ts'
import type { Events } from '#gateway/events.ts'
import { Counter } from '#shared/counter.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { ImportedBattery, ImportedGps } from '#shared/wire/telemetry-import.ts'
import type { Store } from '#store/store.ts'
import { BATTERY_STORED, GPS_STORED, SAMPLE_NUMBERS } from '#store/telemetry/store-samples.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import { type Device, requireRegistered, rereadLatest } from '../fleet.ts'

interface TelemetryImportDeps {
  store: Pick<Store, 'read' | 'write'>
  events: Pick<Events, 'emit'>
  clock: Pick<GatewayClock, 'nowMs' | 'latestEventMs'>
  log: Log
}

type RecordCounts = Record<TelemetryStream, number>

export interface ImportOutcome {
  stored: RecordCounts
  /** Valid records that are already stored. */
  duplicates: RecordCounts
  dropped: [reason: string, count: number][]
}

/**
 * Imports records from a file or from another gateway into the history of a device. They do not describe the current
 * state of the device, so nothing is published and no attribute changes; only the newest record may change.
 */
export class TelemetryImport {
  readonly #deps: TelemetryImportDeps

  constructor(deps: TelemetryImportDeps) {
    this.#deps = deps
  }

  /** Stores the records not yet there, in one transaction. Throws `device_not_found` and `store_unavailable`. */
  async add(device: Device, gps: readonly ImportedGps[], battery: readonly ImportedBattery[]): Promise<ImportOutcome> {
    const { store, events, clock, log } = this.#deps
    const { deviceId, hardwareId } = device.row
    const latestMs = clock.latestEventMs(clock.nowMs())
    const dropped = new Counter()
    const onDrop = (reason: string) => dropped.add(reason)
    const gpsSamples = gps.flatMap((record) => importedGps(record, latestMs, onDrop) ?? [])
    const batterySamples = battery.flatMap((record) => importedBattery(record, latestMs, onDrop) ?? [])
    const stored = { gps: 0, battery: 0 }
    if (gpsSamples.length + batterySamples.length > 0) {
      const samples = pack(deviceId, [...gpsSamples, ...batterySamples])
      await store.write('importTelemetry', { deviceId, samples }, (flags) => {
        for (const flag of flags) {
          if ((flag & GPS_STORED) !== 0) stored.gps++
          if ((flag & BATTERY_STORED) !== 0) stored.battery++
        }
        const moved = (['gps', 'battery'] as const).filter((stream) => stored[stream] > 0)
        if (moved.length > 0) rereadLatest(device, moved, store.read, clock.latestEventMs(clock.nowMs()))
      })
    }
    requireRegistered(device)
    if (stored.gps > 0) events.emit('historyChanged', { hardwareId })
    log.debug({ hardwareId, ...stored }, 'imported telemetry')
    const duplicates = {
      gps: gpsSamples.length - stored.gps,
      battery: batterySamples.length - stored.battery,
    }
    return { stored, duplicates, dropped: dropped.entries() }
  }
}

function pack(deviceId: number, samples: readonly Sample[]): Float64Array {
  const packed = new Float64Array(samples.length * SAMPLE_NUMBERS)
  for (const [i, sample] of samples.entries()) packSample(packed, i * SAMPLE_NUMBERS, deviceId, sample)
  return packed
}
