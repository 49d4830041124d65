import { fromE7, fromMilli } from '#shared/geo.ts'
import { recordId, recordIdPrefix } from '#shared/ids.ts'
import { NO_SPEED } from '#shared/telemetry/records.ts'
import { toIso } from '#shared/time.ts'
import type { HistoryOwner } from './text.ts'

type PointWriter = (atMs: number, latE7: number, longE7: number, speedMilliKmh: number) => string

/** Writes GPS records as GeoJSON features, one each, with what the JSON record says. Source: RFC 7946 3.2 */
export function geojsonPoints({ hardwareId, shortId }: HistoryOwner): PointWriter {
  const prefix = recordIdPrefix(hardwareId, 'gps')
  const owner = `"device_id":${JSON.stringify(shortId)},"hardware_id":${JSON.stringify(hardwareId)}`
  return (atMs, latE7, longE7, speedMilliKmh) => {
    const id = recordId(prefix, atMs)
    const speed = speedMilliKmh === NO_SPEED ? '' : `,"speed":${fromMilli(speedMilliKmh)}`
    return `{"type":"Feature","id":"${id}","geometry":{"type":"Point","coordinates":[${fromE7(longE7)},${fromE7(latE7)}]},\
"properties":{${owner},"timestamp":"${toIso(atMs)}"${speed}}}`
  }
}
