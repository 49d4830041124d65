import { parseIso } from '#shared/time.ts'
import type { ImportedBattery, ImportedGps } from '#shared/wire/telemetry-import.ts'
import { isPlausibleTime } from './event-time.ts'
import { type OnDrop, parseSample, type Sample } from './telemetry.ts'

/**
 * A record of a file as a reading of the device, by the rules for what devices send. Undefined, and its reason to
 * `onDrop`, when it cannot be used; a speed that cannot be used costs only the speed.
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

/** The same for a battery record. */
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
