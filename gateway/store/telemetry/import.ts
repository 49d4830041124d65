import { NotFoundError } from '#shared/errors.ts'
import { storeSamples } from './store-samples.ts'
import type { WriterTables } from './writer-tables.ts'

/** Records of one device, packed as in `AppendBatch.samples`. */
export interface ImportInput {
  deviceId: number
  samples: Float64Array
}

/**
 * Stores records that did not come from the device itself: they move none of its state. Returns what of each is new.
 * Throws `device_not_found`: what is imported for a device that is gone would be reachable by nobody.
 */
export function importTelemetry(connection: WriterTables, { deviceId, samples }: ImportInput): Uint8Array {
  if (connection.get('SELECT 1 FROM device WHERE device_id = ?', deviceId) === undefined)
    throw new NotFoundError('device_not_found', 'the device was deleted')
  return storeSamples(connection, samples)
}
