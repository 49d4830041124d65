import { extname } from 'node:path'

/** Formats of a track file, named as in the API. */
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

/** Returns the format indicated by a file's name. */
export function formatOfName(name: string): TrackFormat | undefined {
  return EXTENSIONS[extname(name).toLowerCase()]
}
