import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Events } from '#gateway/events.ts'
import { GatewayClock } from '#services/clock/gateway-clock.ts'
import { TimestampTrustLimiter } from '#services/clock/timestamp-trust-limiter.ts'
import { type Device, Fleet } from '#services/fleet.ts'
import { BlockDamage } from '#services/telemetry/block-damage.ts'
import { TelemetryDeletion } from '#services/telemetry/deletion.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import { Store } from '#store/store.ts'
import { BlockTable } from './block-table.ts'

/** Line of the program's log. */
interface LogLine {
  level: string
  msg: string
  [field: string]: unknown
}

/**
 * Opens the deletion of telemetry on a real store in a folder of its own. `prepare` adds telemetry before anything
 * runs; the log is sealed as it is, which is right for records after everything in blocks.
 */
export async function openTelemetryParts(
  t: TestContext,
  prepare: (table: BlockTable) => void,
  { hasUpstream = false } = {},
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-parts-'))
  const path = join(dataDir, 'cartbarn.db')
  const table = new BlockTable(path)
  table.connection.db.transaction(() => prepare(table))()
  const lines: LogLine[] = []
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, log)
  await store.start()
  t.after(async () => {
    table.close()
    await store.stop()
    rmSync(dataDir, { recursive: true })
  })
  const system = new FakeClock()
  const clock = new GatewayClock({ system, isSynchronized: () => false })
  clock.start({ markMs: 0, confirmedMs: 0 })
  const brake = new TimestampTrustLimiter(clock)
  const fleet = new Fleet()
  fleet.load(store.read, clock.latestEventMs(clock.nowMs()))
  const maintenance = new SerialQueue()
  const damage = new BlockDamage({ store, maintenance, clock, log })
  const sealing = { sealNow: async () => table.seal() }
  const telemetry = new TelemetryDeletion({
    store,
    events: new Events(log),
    fleet,
    sealing,
    damage,
    maintenance,
    clock,
    brake,
    log,
    hasUpstream,
  })
  const of = (deviceId: number): Device => {
    const device = fleet.all().find(({ row }) => row.deviceId === deviceId)
    if (device === undefined) throw new Error(`no device ${deviceId}`)
    return device
  }
  /** Records the newest position of a device, with the device's own time, as ingest would. */
  const note = (deviceId: number, atMs: number) => {
    brake.reported(atMs, clock.latestEventMs(clock.nowMs()))
    const device = of(deviceId)
    device.reported = { ...device.reported, gps: { atMs, lat: 0, long: 0, speedKmh: null } }
  }
  return {
    table,
    store,
    log,
    lines,
    system,
    clock,
    brake,
    fleet,
    maintenance,
    sealing,
    damage,
    telemetry,
    of,
    note,
  }
}
