import {
  BATTERY,
  type BatteryRecords,
  GPS,
  type GpsRecords,
  type RecordKind,
  type Records,
} from '#shared/telemetry/records.ts'
import type { TelemetryRun } from '#shared/telemetry/runs.ts'
import type { Sql } from '../database/database.ts'
import { insertBlocks } from './blocks.ts'
import { firstMs, lastMs, mergeAll } from './merged-records.ts'
import { StreamBlocks } from './stream-blocks.ts'

/** Block as the gateway sent it, and its decoded records. */
export type ReadBlock =
  | {
      readonly hardwareId: string
      readonly stream: 'gps'
      readonly records: GpsRecords
      readonly block: Uint8Array
    }
  | {
      readonly hardwareId: string
      readonly stream: 'battery'
      readonly records: BatteryRecords
      readonly block: Uint8Array
    }

/** Inserts blocks, unchanged if the hub has none of their records. Inside the site's lock. */
export async function addBlocks(sql: Sql, siteId: string, blocks: readonly ReadBlock[]): Promise<void> {
  for (const [hardwareId, ofDevice] of byDevice(blocks)) {
    const of = { siteId, hardwareId }
    await addChunks(sql, of, GPS, gpsOf(ofDevice))
    await addChunks(sql, of, BATTERY, batteryOf(ofDevice))
  }
}

/** Puts the records of runs into blocks. Inside the site's lock. */
export async function addRuns(sql: Sql, siteId: string, runs: readonly TelemetryRun[]): Promise<void> {
  for (const [hardwareId, ofDevice] of byDevice(runs)) {
    const of = { siteId, hardwareId }
    const gps = mergeAll(
      GPS,
      gpsOf(ofDevice).map(({ records }) => records),
    )
    const battery = mergeAll(
      BATTERY,
      batteryOf(ofDevice).map(({ records }) => records),
    )
    await addChunks(sql, of, GPS, [{ records: gps }])
    await addChunks(sql, of, BATTERY, [{ records: battery }])
  }
}

/** Puts chunks of ascending records into blocks; of two records with one time the one that arrived first stays. */
export async function addChunks<R extends Records>(
  sql: Sql,
  of: { siteId: string; hardwareId: string },
  kind: RecordKind<R>,
  pieces: readonly { records: R; block?: Uint8Array }[],
): Promise<void> {
  const some = pieces.filter(({ records }) => records.atMs.length > 0)
  if (some.length === 0) return
  const range = {
    fromMs: Math.min(...some.map(({ records }) => firstMs(records))),
    toMs: Math.max(...some.map(({ records }) => lastMs(records))),
  }
  const blocks = await StreamBlocks.load(sql, of, kind, range)
  for (const { records, block } of some) await blocks.add(records, block)
  await insertBlocks(sql, of.siteId, blocks.added)
}

function byDevice<T extends { readonly hardwareId: string }>(items: readonly T[]): Map<string, T[]> {
  return Map.groupBy(items, ({ hardwareId }) => hardwareId)
}

function gpsOf<T extends { readonly stream: string }>(items: readonly T[]): Extract<T, { stream: 'gps' }>[] {
  return items.filter((item): item is Extract<T, { stream: 'gps' }> => item.stream === 'gps')
}

function batteryOf<T extends { readonly stream: string }>(items: readonly T[]): Extract<T, { stream: 'battery' }>[] {
  return items.filter((item): item is Extract<T, { stream: 'battery' }> => item.stream === 'battery')
}
