import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { SyncSource } from '#services/replication/source.ts'
import { BlockDamage } from '#services/telemetry/block-damage.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { createLog } from '#shared/log.ts'
import { FakeClock } from '#shared/testing/clocks.ts'
import type { SyncCursor, SyncStream } from '#shared/wire/replication/sync.ts'
import { Store } from '#store/store.ts'
import { dropLog, replaceBlocks } from '#store/telemetry/blocks.ts'
import { planSealing, type SealPlan } from '#store/telemetry/seal-plan.ts'
import { openWriter } from '#store/writer/open.ts'

/**
 * Opens a source of replication on a real store in a folder of its own, with a second connection that writes alongside
 * it.
 */
export async function openSyncSource(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cartbarn-sync-'))
  const log = createLog('silent')
  const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, log)
  await store.start()
  const other = openWriter(join(dataDir, 'cartbarn.db'))
  other.db.pragma('synchronous = OFF')
  t.after(async () => {
    other.close()
    await store.stop()
    rmSync(dataDir, { recursive: true })
  })
  const clock = new FakeClock()
  const maintenance = new SerialQueue()
  const damage = new BlockDamage({ store, maintenance, clock, log })
  const source = new SyncSource({ store, damage, maintenance, clock, monotonic: clock, log })

  /** Moves the log into blocks; those with unacknowledged samples enter the block log. */
  const seal = () => {
    let part: SealPlan | undefined
    do {
      part = planSealing(other, {
        fromSeq: 0,
        throughSeq: part?.throughSeq ?? Number.MAX_SAFE_INTEGER,
        maxSamples: 1_000_000,
        afterDeviceId: part?.lastDeviceId ?? null,
      })
      const { replacements } = part
      const throughSeq = part.throughSeq ?? 0
      other.db.transaction(() => replaceBlocks(other, { replacements, throughSeq }))()
    } while (part.lastDeviceId !== null)
    const throughSeq = part.throughSeq ?? 0
    other.db.transaction(() => dropLog(other, { fromSeq: 0, throughSeq, limit: 1_000_000 }))()
  }
  /** Acknowledges a stream up to `seq`, as the hub does. */
  const acknowledge = (stream: SyncStream, seq: number) => {
    const cursor: SyncCursor = { seq, hash: 'a'.repeat(64) }
    return source.acknowledge({ [stream]: cursor })
  }
  return { store, source, other, clock, damage, maintenance, seal, acknowledge }
}
