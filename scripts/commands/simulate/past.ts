import { setTimeout as wait } from 'node:timers/promises'
import { RetryTimeout } from '#scripts/cli/retry-timeout.ts'
import { ApiClient } from '#shared/client.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import type { TrackRecord } from '../import/check-record.ts'
import { ImportReport } from '../import/import-report.ts'
import { Upload } from '../import/upload.ts'
import { MID_MORNING_S } from './course/itinerary.ts'
import { DAY_S, dayOf } from './course/model-day.ts'
import { createCart, createDeviceModel, type FleetPlan, type PlannedCart } from './fleet-plan.ts'
import type { HistoryProgress } from './history.ts'
import { listDevices } from './register.ts'
import type { Sample } from './sample.ts'

export interface PastOptions {
  readonly plan: FleetPlan
  /** Number of whole days before the one on which the fleet was registered. */
  readonly days: number
  readonly gatewayUrl: string
  readonly adminKey: string
  readonly signal: AbortSignal
  readonly progress: HistoryProgress
}

/** Seconds for which requests are retried while the gateway is unreachable. */
const RETRY_S = 60
const HOUR_S = 3600

/**
 * Imports the reports of a fleet from before it was registered, while the fleet runs: an hour of a cart at a time,
 * followed by an equal pause. The registration is half past ten in model time, when a live fleet starts. The reports of
 * a cart at that very moment are stored last: if they exist nothing is missing, and an interrupted fill starts again.
 * Throws the errors of `RetryTimeout`, and the reason of `signal`.
 */
export async function importPast(options: PastOptions): Promise<void> {
  const { plan, days, progress, gatewayUrl: url, adminKey: apiKey, signal } = options
  const client = new ApiClient({ url, apiKey })
  const patience = new RetryTimeout({ retryForS: RETRY_S, signal, onAway: () => undefined })
  const beganMs = await registeredAtMs(plan, client, patience)
  if (beganMs === null) return
  const upload = new Upload(client, patience, new ImportReport())
  progress.cartDaysTotal = plan.carts * (days + MID_MORNING_S / DAY_S)
  for (const planned of plan.fleet) {
    const cart = new PastCart(planned, plan, { beganMs, upload, progress, signal })
    if (!(await cart.isThere(client, patience))) await cart.fill(days)
  }
}

/** Returns the time when the first device of the fleet was registered; null if none is. */
async function registeredAtMs(plan: FleetPlan, client: ApiClient, patience: RetryTimeout): Promise<number | null> {
  const own = new Set(plan.fleet.flatMap(({ devices }) => devices.map(({ hardwareId }) => hardwareId)))
  const known = await patience.with(() => listDevices(client))
  const times = known.filter(({ hardware_id }) => own.has(hardware_id)).map(({ created_at }) => created_at)
  return times.length === 0 ? null : Math.min(...times.map((time) => Date.parse(time)))
}

interface PastDeps {
  beganMs: number
  upload: Upload
  progress: HistoryProgress
  signal: AbortSignal
}

/** Days of one cart before the fleet started. */
class PastCart {
  readonly #planned: PlannedCart
  readonly #plan: FleetPlan
  readonly #deps: PastDeps

  constructor(planned: PlannedCart, plan: FleetPlan, deps: PastDeps) {
    this.#planned = planned
    this.#plan = plan
    this.#deps = deps
  }

  async isThere(client: ApiClient, patience: RetryTimeout): Promise<boolean> {
    const at = toIso(this.#deps.beganMs)
    const query = { from: at, to: at }
    for (const { hardwareId } of this.#planned.devices) {
      const path = { id: hardwareId }
      const last = await patience.with((signal) => client.call('GET /devices/{id}/gps', { path, query, signal }))
      if (last.length === 0) return false
    }
    return true
  }

  async fill(days: number): Promise<void> {
    const { beganMs, upload } = this.#deps
    const plan = this.#plan
    const cart = createCart(plan, this.#planned.index)
    const today = dayOf(beganMs, plan.center)
    for (let day = today - days; day <= today; day++) {
      cart.startDay(day)
      const devices = this.#planned.devices.map((device) => ({
        hardwareId: device.hardwareId,
        model: createDeviceModel(plan, device, day),
      }))
      const startMs = beganMs - MID_MORNING_S * 1000 - (today - day) * DAY_MS
      const seconds = day === today ? MID_MORNING_S : DAY_S
      for (let second = 1, workedFromMs = performance.now(); second < seconds; second++) {
        cart.step()
        const atMs = startMs + second * 1000
        for (const { hardwareId, model } of devices) {
          const sample = model.observe(atMs, cart)
          if (sample !== undefined) await this.#add(hardwareId, sample)
        }
        if (second % HOUR_S !== 0) continue
        await this.#rest(performance.now() - workedFromMs)
        workedFromMs = performance.now()
      }
      if (day < today) continue
      await upload.finish()
      for (const { hardwareId, model } of devices) await this.#add(hardwareId, model.measure(beganMs, cart))
      await upload.finish()
    }
  }

  async #add(hardwareId: string, sample: Sample): Promise<void> {
    this.#deps.progress.samples += 1
    await this.#deps.upload.add(hardwareId, recordsOf(sample))
  }

  /** Pauses to leave as much time to live devices. */
  async #rest(workedMs: number): Promise<void> {
    const { progress, signal } = this.#deps
    progress.cartDays += HOUR_S / DAY_S
    await wait(workedMs, undefined, { signal })
  }
}

/** Returns the parts of a sample that an import accepts: the position and the voltage. */
function recordsOf({ atMs, fields }: Sample): Pick<TrackRecord, 'gps' | 'battery'> {
  const timestamp = toIso(atMs)
  const { lat, long, speed, battery_voltage: voltage } = fields
  const isPlaced = typeof lat === 'number' && typeof long === 'number'
  return {
    gps: isPlaced ? { timestamp, lat, long, ...(typeof speed === 'number' && { speed }) } : null,
    battery: typeof voltage === 'number' ? { timestamp, battery_voltage: voltage } : null,
  }
}
