import { parseIso } from '#shared/time.ts'
import type { ImportedBattery, ImportedGps } from '#shared/wire/telemetry-import.ts'
import { isPlausibleTime } from './event-time.ts'
import { type OnDrop, parseSample, type Sample } from './telemetry.ts'

/**
 * Converts a record of a file to a reading, by the rules for device messages. Undefined if it is unusable, with the
 * reason passed to `onDrop`; an unusable speed drops only the speed.
 */
export function importedGps(
  { timestamp, lat, long, speed }: ImportedGps,
  latestMs: number,
  onDrop: OnDrop,
): Sample | undefined {
  const atMs = plausibleTime(timestamp, latestMs, onDrop)
  if (atMs === undefined) return undefined
  const sample = parseSample({ lat, long }, atMs, onDrop)
  if (sample === undefined || speed === undefined) return sample
  return { ...sample, speedKmh: parseSample({ speed }, atMs, onDrop)?.speedKmh ?? Number.NaN }
}

/** Converts a battery record likewise. */
export function importedBattery(
  { timestamp, battery_voltage }: ImportedBattery,
  latestMs: number,
  onDrop: OnDrop,
): Sample | undefined {
  const atMs = plausibleTime(timestamp, latestMs, onDrop)
  return atMs === undefined ? undefined : parseSample({ battery_voltage }, atMs, onDrop)
}

function plausibleTime(timestamp: string, latestMs: number, onDrop: OnDrop): number | undefined {
  const atMs = parseIso(timestamp)
  if (isPlausibleTime(atMs, latestMs)) return atMs
  onDrop(atMs === undefined ? 'invalid_time' : 'implausible_time')
  return undefined
}
