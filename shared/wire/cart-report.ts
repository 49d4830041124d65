import { z } from 'zod'
import type { CartDevice, CartZoneContext } from '#shared/carts/cart-state.ts'
import { zoneTypeSchema } from './geofences.ts'

const timeSchema = z.number()
const e7Schema = z.number().int()

/**
 * Report of a device about its cart, sent to the hub, which evaluates the cart from it like the gateway does.
 * Supplements the latest state of the device, so that neither has to derive anything from history.
 */
export const cartReportSchema = z.object({
  fix: z
    .object({ at_ms: timeSchema, lat_e7: e7Schema, long_e7: e7Schema, speed_kmh: z.number().nullable() })
    .nullable(),
  heading: z.number().nullable(),
  still_since_ms: timeSchema.nullable(),
  battery: z.object({ at_ms: timeSchema, voltage_v: z.number() }).nullable(),
  rest: z.object({ at_ms: timeSchema, voltage_v: z.number() }).nullable(),
  low_readings: z.number().int(),
  stays: z.array(
    z.object({
      zone_id: z.string(),
      name: z.string(),
      type: zoneTypeSchema,
      hole: z.number().int().nullable(),
      since_ms: timeSchema,
    }),
  ),
  out_since_ms: timeSchema.nullable(),
  heard_at_ms: timeSchema.nullable(),
  said_sleep: z.boolean(),
  lock: z
    .object({
      is_locked: z.boolean(),
      at_ms: timeSchema,
      source: z.string().nullable(),
      by: z.string().nullable(),
    })
    .nullable(),
  /** Time of the automatic lock, in the report of the lock device; older gateways omit it. */
  auto_lock_at_ms: timeSchema.nullable().default(null),
  /** True if zones of this kind apply to its cart. */
  has_parking: z.boolean(),
  has_boundary: z.boolean(),
})
type CartReportJson = z.infer<typeof cartReportSchema>

export function toCartReportJson(
  device: CartDevice,
  zoneContext: CartZoneContext,
  autoLockAtMs: number | null,
): CartReportJson {
  const { fix, heading, still, battery, rest, lowReadings } = device.motion
  const toVoltage = (known: { atMs: number; voltageV: number } | null) =>
    known && { at_ms: known.atMs, voltage_v: known.voltageV }
  return {
    fix: fix && { at_ms: fix.atMs, lat_e7: fix.latE7, long_e7: fix.longE7, speed_kmh: fix.speedKmh },
    heading,
    still_since_ms: still?.sinceMs ?? null,
    low_readings: lowReadings,
    battery: toVoltage(battery),
    rest: toVoltage(rest),
    stays: device.stays.map(({ zoneId, name, type, hole, sinceMs }) => ({
      zone_id: zoneId,
      name,
      type,
      hole,
      since_ms: sinceMs,
    })),
    out_since_ms: device.outSinceMs,
    heard_at_ms: device.lastSeenAtMs,
    said_sleep: device.announcedSleep,
    lock: device.lock && {
      is_locked: device.lock.isLocked,
      at_ms: device.lock.atMs,
      source: device.lock.source,
      by: device.lock.by,
    },
    auto_lock_at_ms: autoLockAtMs,
    has_parking: zoneContext.hasParking,
    has_boundary: zoneContext.hasBoundary,
  }
}

/** Reads the report of a device about its cart; without a valid report only the identity is known. */
export function readCartReport(
  json: CartReportJson | null,
  device: Pick<CartDevice, 'hardwareId' | 'deviceType' | 'isOnline'>,
): CartDevice {
  const fix = json?.fix ?? null
  const sinceMs = json?.still_since_ms ?? null
  const readVoltage = (known: { at_ms: number; voltage_v: number } | null | undefined) =>
    known == null ? null : { atMs: known.at_ms, voltageV: known.voltage_v }
  const lock = json?.lock ?? null
  return {
    ...device,
    motion: {
      fix: fix && { atMs: fix.at_ms, latE7: fix.lat_e7, longE7: fix.long_e7, speedKmh: fix.speed_kmh },
      headingFrom: null,
      heading: json?.heading ?? null,
      lowReadings: json?.low_readings ?? 0,
      still: fix === null || sinceMs === null ? null : { latE7: fix.lat_e7, longE7: fix.long_e7, sinceMs },
      battery: readVoltage(json?.battery),
      rest: readVoltage(json?.rest),
    },
    stays: (json?.stays ?? []).map((stay) => ({
      zoneId: stay.zone_id,
      name: stay.name,
      type: stay.type,
      hole: stay.hole,
      sinceMs: stay.since_ms,
    })),
    outSinceMs: json?.out_since_ms ?? null,
    lastSeenAtMs: json?.heard_at_ms ?? null,
    announcedSleep: json?.said_sleep ?? false,
    lock: lock && { isLocked: lock.is_locked, atMs: lock.at_ms, source: lock.source, by: lock.by },
  }
}
