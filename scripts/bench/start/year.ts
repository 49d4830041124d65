import { printProgress } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { encodeBlock, MAX_BLOCK_RECORDS } from '#shared/telemetry/block.ts'
import { BATTERY, GPS, type GpsRecords, type RecordKind, type Records } from '#shared/telemetry/records.ts'
import { DAY_MS } from '#shared/time.ts'
import type { Connection } from '#store/db/connection.ts'
import { databasePath } from '#store/db/files.ts'
import { insertBlock } from '#store/telemetry/blocks.ts'
import { openWriter } from '#store/writer/open.ts'
import { FilledFolder } from '../history/fill.ts'
import { FLEET, PLACE_STEP_E7, recordTrack, type TrackStyle } from '../history/history-parts.ts'

const SIZES = { carts: 200, days: 365, tracks: 4, trackRecords: 26_000 }
const SHORT_SIZES = { carts: 10, days: 2, tracks: 2, trackRecords: 5_000 }

/** Twelve hours a day: a fix in five seconds while the cart is out, in sixty while it is in. */
const STYLE: TrackStyle = {
  ...FLEET,
  name: 'year',
  keeps: (cart, second) => FLEET.keeps(cart, second) && (!cart.isLocked || second % 60 === 0),
}

/**
 * Makes a data folder with the history of a year as blocks (receiving it takes an hour): simulated tracks repeated by
 * whole days, shifted per cart. `records` is the number of positions; there are as many voltages.
 */
export async function makeYear(context: ScenarioContext) {
  const sizes = context.isShort ? SHORT_SIZES : SIZES
  const folder = await FilledFolder.create(context, 'year')
  const carts = await folder.register(sizes.carts, 'cart')
  printProgress('  making the year')
  const tracks = Array.from({ length: sizes.tracks }, (_, i) => recordTrack(STYLE, sizes.trackRecords, i))
  const fromMs = Math.min(...tracks.map(({ atMs }) => atMs[0] ?? 0))
  const toMs = fromMs + sizes.days * DAY_MS
  const deviceIds = folder.deviceIds('cart')
  const connection = openWriter(databasePath(folder.path))
  let records = 0
  for (const [n, deviceId] of deviceIds.entries()) {
    const track = tracks[n % tracks.length]
    if (track === undefined) throw new Error('no track')
    connection.run('BEGIN')
    for (const part of repeated(track, n, toMs)) {
      insert(connection, deviceId, GPS, part)
      insert(connection, deviceId, BATTERY, { atMs: part.atMs, voltageMv: voltagesOf(part.atMs) })
      records += part.atMs.length
    }
    connection.run('COMMIT')
  }
  connection.close()
  return { folder, carts, records, fromMs, toMs }
}

/** Repeats a track until `toMs`, in portions of a block. */
function* repeated(track: GpsRecords, n: number, toMs: number): Generator<GpsRecords, void, void> {
  const count = track.atMs.length
  const spanMs = Math.ceil(((track.atMs[count - 1] ?? 0) - (track.atMs[0] ?? 0) + 1) / DAY_MS) * DAY_MS
  for (let shiftMs = 0; ; shiftMs += spanMs) {
    for (let from = 0; from < count; from += MAX_BLOCK_RECORDS) {
      const { atMs, latE7, longE7, speedMilliKmh } = GPS.view(track, from, Math.min(count, from + MAX_BLOCK_RECORDS))
      if ((atMs[0] ?? 0) + shiftMs >= toMs) return
      yield {
        atMs: atMs.map((at) => at + shiftMs),
        latE7: latE7.map((lat) => lat + n * PLACE_STEP_E7),
        longE7,
        speedMilliKmh,
      }
    }
  }
}

/** Voltages of a battery that falls over the day and fluctuates. */
function voltagesOf(atMs: Float64Array): Int32Array {
  return Int32Array.from(atMs, (at) => 52_000 - Math.floor((at % DAY_MS) / 30_000) + ((at / 1000) % 7) * 10)
}

function insert<R extends Records>(connection: Connection, deviceId: number, kind: RecordKind<R>, records: R): void {
  const { atMs } = records
  const [firstMs = 0, lastMs = 0] = [atMs[0], atMs.at(-1)]
  const block = { firstMs, lastMs, count: atMs.length, records: encodeBlock(kind, records) }
  insertBlock(connection, { deviceId, stream: kind.name }, block)
}
