import type { TelemetryStream } from '#shared/ids.ts'
import { toIso } from '#shared/time.ts'
import type { ImportedBattery, ImportedGps } from '#shared/wire/telemetry-import.ts'

/** Record of a stream in the API's format, without its device. */
export interface ListedRecord {
  timestamp: string
  lat?: number
  long?: number
  speed?: number | undefined
  battery_voltage?: number
}

const SLOT_MS = 250
const E7 = 1e7
const MILLI = 1000

/** Streams that have a record at that time: the time decides, so that all senders send the same record. */
export function streamsAt(atMs: number): TelemetryStream[] {
  switch (Math.floor(atMs / SLOT_MS) % 8) {
    case 0:
      return ['battery']
    case 4:
      return ['gps', 'battery']
    default:
      return ['gps']
  }
}

/** Records of a device at a time: the values follow from both, so that any other is a fault. */
export const RECORD_AT = { gps: gpsAt, battery: batteryAt }

function batteryAt(_device: number, atMs: number): ImportedBattery {
  return { timestamp: toIso(atMs), battery_voltage: (48_000 + (tickOf(atMs) % 4000)) / MILLI }
}

function gpsAt(device: number, atMs: number): ImportedGps {
  const tick = tickOf(atMs)
  return {
    timestamp: toIso(atMs),
    lat: (280_000_000 + device * 100_000 + (tick % 90_000)) / E7,
    long: (-810_000_000 - ((tick * 7) % 90_000)) / E7,
    ...(tick % 5 === 0 ? {} : { speed: (tick % 20_000) / MILLI }),
  }
}

function tickOf(atMs: number): number {
  return Math.floor(atMs / SLOT_MS) + atMs
}

/** Sample of that time in a device's telemetry message. */
export function sampleAt(device: number, atMs: number): Record<string, number> {
  const sample: Record<string, number> = { ts: atMs }
  for (const stream of streamsAt(atMs)) {
    const { timestamp: _, ...values } = RECORD_AT[stream](device, atMs)
    Object.assign(sample, values)
  }
  return sample
}
