import { type ApiClient, ApiError } from '#shared/client.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { ListedRecord } from './records.ts'

const EVER = { from: '2020-01-01T00:00:00Z', to: '2099-12-31T00:00:00Z' }

/** Reads all records of a stream of a device over the API of a gateway; none if the device is not registered. */
export async function listRecords(gateway: ApiClient, id: string, stream: TelemetryStream): Promise<ListedRecord[]> {
  try {
    return await gateway.call(`GET /devices/{id}/${stream}`, { path: { id }, query: EVER })
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}
