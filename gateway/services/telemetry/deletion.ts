import type { Events } from '#gateway/events.ts'
import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { Counter } from '#shared/counter.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { DeletedRecords, DeletionStep, PurgePosition } from '#store/telemetry/deletion.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { TimestampTrustLimiter } from '../clock/timestamp-trust-limiter.ts'
import { type Device, type Fleet, rereadLatest } from '../fleet.ts'
import type { BlockDamage } from './block-damage.ts'
import type { Sealing } from './sealing.ts'

interface TelemetryDeps {
  store: Pick<Store, 'read' | 'write'>
  events: Pick<Events, 'emit'>
  fleet: Fleet
  sealing: Pick<Sealing, 'sealNow'>
  damage: Pick<BlockDamage, 'judge' | 'load'>
  /** Serialises everything that changes blocks. */
  maintenance: SerialQueue
  clock: Pick<GatewayClock, 'nowMs' | 'latestEventMs'>
  brake: Pick<TimestampTrustLimiter, 'requireNowMs'>
  log: Log
  /** True with a hub: records that it still lacks are not deleted for their age. */
  hasUpstream: boolean
}

/** Steps of a deletion per maintenance lock: about a second. */
const TURN_STEPS = 50

/** Pauses between two steps of a deletion that no client waits for. */
export type DeletionPause = () => Promise<void>

/**
 * Deletes records, in short transactions between those of the devices' messages. Seals the log first, so that all
 * records are in blocks. A deletion continues after its client has disconnected; one interrupted by a stop or a store
 * fault is completed by the next request.
 */
export class TelemetryDeletion {
  readonly deleted = new Counter(['purge', 'erasure', 'retention'])
  readonly #deps: TelemetryDeps

  constructor(deps: TelemetryDeps) {
    this.#deps = deps
  }

  /** Deletes all records measured more than `olderThanDays` ago. Throws while `brake` is in doubt. */
  async purge(olderThanDays: number): Promise<{ cutoffMs: number; purged: DeletedRecords }> {
    const { brake, log } = this.#deps
    const cutoffMs = brake.requireNowMs() - olderThanDays * DAY_MS
    const purged = await this.#deleteBefore(cutoffMs, 'purge', TURN_STEPS)
    log.info({ cutoff: toIso(cutoffMs), ...purged }, 'purged old telemetry on request of an admin')
    return { cutoffMs, purged }
  }

  /**
   * Deletes all records before `cutoffMs`, except those the hub still lacks; takes the maintenance lock for each step
   * and pauses after it, so that other maintenance runs first.
   */
  deleteExpired(cutoffMs: number, rest: DeletionPause): Promise<DeletedRecords> {
    return this.#deleteBefore(cutoffMs, 'retention', 1, rest)
  }

  /** Deletes all records of a device; those that arrive meanwhile may remain. The latest state does not change. */
  async deleteOf(device: Device, streams: readonly TelemetryStream[]): Promise<DeletedRecords> {
    const { store, sealing, maintenance, clock, log } = this.#deps
    const { deviceId, hardwareId } = device.row
    const deleted = { gps: 0, battery: 0 }
    await maintenance.take(async () => {
      await sealing.sealNow()
      const nowMs = clock.nowMs()
      const begun = await store.write('beginErasure', { deviceId, streams, nowMs })
      this.#count(deleted, begun, 'erasure')
      for (;;) {
        const step = await store.write('deleteDeviceTelemetryStep', { deviceId, streams }, ({ isDone }) => {
          if (isDone) this.#rereadLatest(device, streams)
        })
        this.#count(deleted, step, 'erasure')
        if (step.isDone) return
      }
    })
    log.info({ hardwareId, ...deleted }, 'deleted the telemetry of a device')
    return deleted
  }

  async #deleteBefore(
    cutoffMs: number,
    by: 'purge' | 'retention',
    stepsATurn: number,
    rest: DeletionPause = async () => undefined,
  ): Promise<DeletedRecords> {
    const { store, sealing, damage, maintenance, clock, hasUpstream } = this.#deps
    const request = { beforeMs: cutoffMs, keepsUnsent: by === 'retention' && hasUpstream }
    const deleted = { gps: 0, battery: 0 }
    let after: PurgePosition | null = null
    let isDone = false
    const takeTurn = async () => {
      for (let steps = 0; steps < stepsATurn && !isDone; steps++) {
        const step = await store.write('purgeTelemetryStep', { ...request, after, nowMs: clock.nowMs() }, (written) => {
          if (written.isDone) this.#rereadBefore(cutoffMs)
        })
        this.#count(deleted, step, by)
        await damage.judge(step.unreadable)
        after = step.after
        isDone = step.isDone
      }
    }
    await maintenance.take(() => sealing.sealNow().then(takeTurn))
    while (!isDone) {
      await rest()
      await maintenance.take(takeTurn)
    }
    return deleted
  }

  #count(total: DeletedRecords, step: DeletedRecords & Partial<DeletionStep>, by: string): void {
    total.gps += step.gps
    total.battery += step.battery
    this.deleted.add(by, step.gps + step.battery)
    if ((step.damagedBlocks ?? 0) > 0) this.#deps.damage.load()
  }

  #rereadBefore(cutoffMs: number): void {
    for (const device of this.#deps.fleet.all()) {
      const { gps, battery } = device.reported
      if (gps !== null && gps.atMs < cutoffMs) this.#rereadLatest(device, ['gps'])
      if (battery !== null && battery.atMs < cutoffMs) this.#rereadLatest(device, ['battery'])
    }
  }

  // Call only in the `onWritten` of a write: memory and the stored data agree only then.
  #rereadLatest(device: Device, streams: readonly TelemetryStream[]): void {
    const { store, events, clock } = this.#deps
    if (streams.includes('gps')) events.emit('historyChanged', { hardwareId: device.row.hardwareId })
    rereadLatest(device, streams, store.read, clock.latestEventMs(clock.nowMs()))
  }
}
