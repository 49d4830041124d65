import { ConflictError } from '../../shared/errors.ts'
import type { TelemetryStream } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import { DAY_MS, toIso } from '../../shared/time.ts'
import type { Store } from '../store/store.ts'
import type { DeletedRecords, DeletionStep } from '../store/telemetry.ts'
import { type Device, type Fleet, latestBatteryOf, latestGpsOf } from './fleet.ts'
import type { GatewayClock } from './gateway-clock.ts'
import type { QueuedMessage } from './ingest.ts'

interface TelemetryDeps {
  store: Pick<Store<QueuedMessage>, 'read' | 'write'>
  fleet: Fleet
  clock: Pick<GatewayClock, 'nowMs' | 'isTrusted' | 'latestEventMs'>
  log: Log
}

/**
 * Deletes records, in short transactions between those of the devices' messages, one deletion after the other. Each
 * goes on when nobody waits for it any more; one that a stop or a fault of the store ended is finished by asking again.
 */
export class Telemetry {
  readonly #deps: TelemetryDeps
  #last: Promise<unknown> = Promise.resolve()

  constructor(deps: TelemetryDeps) {
    this.#deps = deps
  }

  /** Deletes all records measured more than so many days ago. Throws `clock_not_set` when nobody knows what that is. */
  async purge(olderThanDays: number): Promise<{ cutoffMs: number; purged: DeletedRecords }> {
    const { store, clock, fleet, log } = this.#deps
    const cutoffMs = clock.nowMs() - olderThanDays * DAY_MS
    // a wrong clock may be years ahead: it would delete what is wanted
    if (!clock.isTrusted) throw new ConflictError('clock_not_set', 'the clock of the gateway is not set')
    const purged = await this.#inTurn(() => {
      const rereadPurged = () => {
        for (const device of fleet.all()) {
          const { gps, battery } = device.reported
          if (gps !== null && gps.atMs < cutoffMs) this.#rereadLatest(device, ['gps'])
          if (battery !== null && battery.atMs < cutoffMs) this.#rereadLatest(device, ['battery'])
        }
      }
      return deleteInSteps(
        (onStep) => store.write('purgeTelemetryStep', { beforeMs: cutoffMs }, onStep),
        rereadPurged,
      )
    })
    log.info({ cutoff: toIso(cutoffMs), ...purged }, 'telemetry purged')
    return { cutoffMs, purged }
  }

  /** Deletes all records of a device; what arrives meanwhile may stay. The latest state does not change. */
  async deleteOf(device: Device, streams: readonly TelemetryStream[]): Promise<DeletedRecords> {
    const { store, log } = this.#deps
    const { deviceId, hardwareId } = device.row
    const deleted = await this.#inTurn(() =>
      deleteInSteps(
        (onStep) => store.write('deleteDeviceTelemetryStep', { deviceId, streams }, onStep),
        () => this.#rereadLatest(device, streams),
      ),
    )
    log.info({ hardwareId, ...deleted }, 'telemetry deleted')
    return deleted
  }

  // Only in the `onWritten` of a write: then nothing is on its way to the disk that memory knows nothing of, or the
  // other way round.
  #rereadLatest(device: Device, streams: readonly TelemetryStream[]): void {
    const { store, clock } = this.#deps
    const { deviceId } = device.row
    const untilMs = clock.latestEventMs(clock.nowMs())
    device.reported = {
      ...device.reported,
      ...(streams.includes('gps') ? { gps: latestGpsOf(store.read, deviceId, untilMs) } : {}),
      ...(streams.includes('battery') ? { battery: latestBatteryOf(store.read, deviceId, untilMs) } : {}),
    }
  }

  /** Two at once would count the same records between them; this way each answer says what its own request did. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

async function deleteInSteps(
  write: (onStep: (step: DeletionStep) => void) => Promise<DeletionStep>,
  onLastStep: () => void,
): Promise<DeletedRecords> {
  const total = { gps: 0, battery: 0 }
  for (;;) {
    const { gps, battery, isDone } = await write((step) => {
      if (step.isDone) onLastStep()
    })
    total.gps += gps
    total.battery += battery
    if (isDone) return total
  }
}
