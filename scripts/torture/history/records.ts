import type { TelemetryStream } from '#shared/ids.ts'

/** One record of a stream as the API lists it, without who it is of. */
export interface ListedRecord {
  timestamp: string
  lat?: number
  long?: number
  speed?: number
  battery_voltage?: number
}

const SLOT_MS = 250
const E7 = 1e7
const MILLI = 1000

/** Which streams have a record at that time: the time decides, so that all senders send the same record. */
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

/** The record a device has at that time: the values follow from both, so that any other is a fault. */
export function recordAt(device: number, stream: TelemetryStream, atMs: number): ListedRecord {
  const timestamp = new Date(atMs).toISOString()
  const tick = Math.floor(atMs / SLOT_MS) + atMs
  if (stream === 'battery') return { timestamp, battery_voltage: (48_000 + (tick % 4000)) / MILLI }
  return {
    timestamp,
    lat: (280_000_000 + device * 100_000 + (tick % 90_000)) / E7,
    long: (-810_000_000 - ((tick * 7) % 90_000)) / E7,
    ...(tick % 5 === 0 ? {} : { speed: (tick % 20_000) / MILLI }),
  }
}

/** What a device says of that time in a telemetry message. */
export function sampleAt(device: number, atMs: number): Record<string, number> {
  const sample: Record<string, number> = { ts: atMs }
  for (const stream of streamsAt(atMs)) {
    const { timestamp: _, ...values } = recordAt(device, stream, atMs)
    Object.assign(sample, values)
  }
  return sample
}

/** Whether a record has the values that were sent for its time. */
export function isAsSent(device: number, stream: TelemetryStream, record: ListedRecord): boolean {
  const sent = recordAt(device, stream, Date.parse(record.timestamp))
  return (
    record.timestamp === sent.timestamp &&
    record.lat === sent.lat &&
    record.long === sent.long &&
    record.speed === sent.speed &&
    record.battery_voltage === sent.battery_voltage
  )
}
