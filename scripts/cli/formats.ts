import { extname } from 'node:path'

/** The forms of a track file, as the API names them. */
export const TRACK_FORMATS = ['gpx', 'csv', 'ndjson', 'geojson'] as const
export type TrackFormat = (typeof TRACK_FORMATS)[number]

const EXTENSIONS: Readonly<Record<string, TrackFormat>> = {
  '.gpx': 'gpx',
  '.csv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.geojson': 'geojson',
  '.geojsonl': 'geojson',
  '.geojsons': 'geojson',
  '.json': 'geojson',
}

/** The format a file's name promises. */
export function formatOfName(name: string): TrackFormat | undefined {
  return EXTENSIONS[extname(name).toLowerCase()]
}
