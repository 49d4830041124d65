import { ADMIN_KEY } from '#scripts/rig/gateway-process.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { ListedRecord } from './records.ts'

const WHOLE_RANGE = 'from=2020-01-01T00:00:00Z&to=2099-12-31T00:00:00Z&format=ndjson'
const GONE = 404

/** Reads all records of a stream of a device over the API of a gateway; none of a device that is not registered. */
export async function listRecords(
  url: string,
  hardwareId: string,
  stream: TelemetryStream,
): Promise<ListedRecord[]> {
  const path = `/devices/${hardwareId}/${stream}?${WHOLE_RANGE}`
  const response = await fetch(url + path, { headers: { 'X-API-Key': ADMIN_KEY } })
  const text = await response.text()
  if (response.status === GONE) return []
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status}`)
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line): ListedRecord => JSON.parse(line))
}
