import { write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { table } from '../db/table.ts'
import type { UsageDay } from '../reports/utilisation.ts'
import type { ReaderTools } from '../telemetry/reader-tools.ts'

export const cartUsageTable = table('cart_usage', {
  care: { what: 'the use of carts by day', size: 'large', meaning: 'Meters of carts do not count missing days.' },
  json: { devices: null },
})

export const serviceDaysTable = table('service_days', {
  care: {
    what: 'the days on which use was written and services were judged',
    meaning: 'Use of the last days is written again, and services are judged again.',
  },
})

/** Sum of the use of a cart on all days before one. */
export interface SavedUsage extends Omit<UsageDay, 'date'> {
  cart: string
  rounds: number
  /** First of the days. */
  since: string
}

export function savedUsage(
  { connection }: Pick<ReaderTools, 'connection'>,
  { carts, before }: { carts: readonly string[]; before: string },
): SavedUsage[] {
  return connection.all<SavedUsage>(
    `SELECT cart, min(date) AS since, sum(out_ms) AS outMs, sum(distance_m) AS distanceM, sum(rounds) AS rounds
     FROM cart_usage WHERE cart IN (SELECT value FROM json_each(?)) AND date < ? GROUP BY cart`,
    JSON.stringify(carts),
    before,
  )
}

export interface CartUsage {
  cart: string
  devices: readonly string[]
  days: readonly (UsageDay & { rounds: number })[]
}

/**
 * Saves the use of a cart by day. A day on which another cart had one of its devices stays with that one; what was
 * counted once stays when its telemetry is deleted.
 */
export const saveCartUsage = write(
  (connection: Connection, { cart, devices, days }: CartUsage): null => {
    const ids = JSON.stringify(devices)
    for (const { date, outMs, distanceM, rounds } of days)
      connection.run(
        `INSERT INTO cart_usage (cart, date, out_ms, distance_m, rounds, devices)
         SELECT ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM cart_usage other, json_each(other.devices) device
           WHERE other.date = ? AND other.cart <> ? AND device.value IN (SELECT value FROM json_each(?)))
         ON CONFLICT DO UPDATE SET out_ms = max(out_ms, excluded.out_ms), rounds = max(rounds, excluded.rounds),
           distance_m = max(distance_m, excluded.distance_m)`,
        cart,
        date,
        outMs,
        distanceM,
        rounds,
        ids,
        date,
        cart,
        ids,
      )
    return null
  },
  { audit: null },
)

/** Local days on which use was last written, and services were last judged. */
export interface ServiceDays {
  meteredOn: string | null
  judgedOn: string | null
}

export function serviceDays(connection: Connection): ServiceDays {
  const sql = 'SELECT metered_on AS meteredOn, judged_on AS judgedOn FROM service_days'
  return connection.get<ServiceDays>(sql) ?? { meteredOn: null, judgedOn: null }
}

export const saveServiceDays = write(
  (connection: Connection, { meteredOn, judgedOn }: ServiceDays): null => {
    const sql = 'INSERT OR REPLACE INTO service_days (only, metered_on, judged_on) VALUES (1, ?, ?)'
    connection.run(sql, meteredOn, judgedOn)
    return null
  },
  { audit: null },
)
