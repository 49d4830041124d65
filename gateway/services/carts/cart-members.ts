import type { GatewayEvents } from '#gateway/events.ts'
import { describeError } from '#shared/errors.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { Log } from '#shared/log.ts'
import { DAY_MS, HOUR_MS } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { Device, Fleet } from '../fleet.ts'
import { nullIfDamaged } from '../null-if-damaged.ts'
import type { Users } from '../users.ts'
import { CartMember, type EvaluationContext, type SavedMotion } from './cart-member.ts'
import type { LockReport } from './reported-lock.ts'

export interface MembersDeps {
  store: Pick<Store, 'read' | 'readers'>
  fleet: Fleet
  users: Pick<Users, 'find'>
  log: Log
}

/** Period of history that is read for a device without saved state: enough to know since when it has stood. */
const LOOKBACK_MS = 2 * HOUR_MS
/** Maximum number of positions, and of voltages, read for a device. */
const RECORDS_MAX = 1500
const DEVICES_A_JOB = 32
const JOBS_IN_FLIGHT = 4

/** Devices of all carts, with the state derived from the reports of each. */
export class CartMembers {
  readonly #deps: MembersDeps
  readonly #byDevice = new Map<Device, CartMember>()

  constructor(deps: MembersDeps) {
    this.#deps = deps
  }

  of(device: Device): CartMember {
    const known = this.#byDevice.get(device)
    if (known !== undefined) return known
    const member = new CartMember(device)
    if (device.isRegistered) this.#byDevice.set(device, member)
    return member
  }

  all(): Iterable<CartMember> {
    return this.#byDevice.values()
  }

  /** Removes all devices except these. */
  keep(devices: readonly Device[]): void {
    if (this.#byDevice.size === 0) return
    for (const device of this.#byDevice.keys()) if (!device.isRegistered) this.#byDevice.delete(device)
    for (const device of devices) this.of(device)
  }

  /** Restores the saved state and adds what was stored since. */
  async load(context: EvaluationContext): Promise<void> {
    const { store, fleet } = this.#deps
    const kept = new Map(store.read.cartMotions().map(({ deviceId, motion }) => [deviceId, motion]))
    for (const device of fleet.all()) {
      const member = this.of(device)
      const text = kept.get(device.row.deviceId)
      if (text === undefined) continue
      // only this program writes it
      member.recall(JSON.parse(text) as Partial<SavedMotion>)
      member.isKept(text)
    }
    const behind = [...this.#byDevice.values()].filter(isBehind)
    await this.#replay(behind, context)
    for (const member of this.#byDevice.values()) {
      member.recallLatest(context)
      member.track.evaluate(context.settings, context.latestMs)
    }
    this.#recallDepartures(new Set(behind))
    this.rereadLocks(context)
  }

  /** Returns the state to save of each device whose state differs from the saved one. */
  news(): { member: CartMember; text: string }[] {
    return [...this.#byDevice.values()].flatMap((member) => {
      const text = member.news()
      return text === null ? [] : [{ member, text }]
    })
  }

  crossed({ hardwareId, event, zoneType, atMs }: GatewayEvents['zoneCrossed']): void {
    if (event === 'exit' && zoneType === 'parking') this.#find(hardwareId)?.left(atMs)
  }

  /** Handles a decision about the clock of a device: if it was ahead, its data must not lie in the future. */
  clockJudged(hardwareId: string, nowMs: number): void {
    this.#find(hardwareId)?.track.endAt(nowMs)
  }

  takeLockReport(change: GatewayEvents['lockChanged']): void {
    const { hardwareId, event, source, code, commandId, liveAtMs: atMs } = change
    const command = commandId === null ? undefined : this.#deps.store.read.command(commandId)
    const requestedBy = command?.hardwareId === hardwareId ? command.requestedBy : null
    this.#find(hardwareId)?.takeLockReport(this.#lockReport({ event, source, atMs, code, requestedBy }))
  }

  rereadLocks({ latestMs }: EvaluationContext): void {
    const { store } = this.#deps
    for (const member of this.#byDevice.values()) {
      const { hardwareId, shortId, createdAtMs: sinceMs } = member.device.row
      const event = nullIfDamaged(() => store.read.latestLockEvent({ hardwareId, shortId, sinceMs }, latestMs))
      member.rereadLock(event == null ? null : this.#lockReport(event))
    }
  }

  #find(hardwareId: string): CartMember | undefined {
    const device = this.#deps.fleet.byHardwareId(hardwareId)
    return device && this.of(device)
  }

  #lockReport({
    event,
    source,
    atMs,
    code,
    requestedBy,
  }: Pick<GatewayEvents['lockChanged'], 'event' | 'source' | 'atMs' | 'code'> & {
    requestedBy: string | null
  }): LockReport {
    const name = requestedBy === null ? null : (this.#deps.users.find(requestedBy)?.row.name ?? requestedBy)
    return { isLocked: event === 'lock', atMs, source, by: source === 'remote' ? name : code }
  }

  /** Reads history after the saved state; a device with unreadable history continues from its newest records. */
  async #replay(members: readonly CartMember[], context: EvaluationContext): Promise<void> {
    const { store, log } = this.#deps
    const chunks = Array.from({ length: Math.ceil(members.length / DEVICES_A_JOB) }, (_, i) =>
      members.slice(i * DEVICES_A_JOB, (i + 1) * DEVICES_A_JOB),
    )
    await inParallel(chunks, JOBS_IN_FLIGHT, async (chunk) => {
      try {
        const devices = chunk.map(startOf)
        const query = { devices, toMs: context.latestMs, limit: RECORDS_MAX }
        const samples = await store.readers.run('cartSamples', query, { owner: 'carts', isShort: true })
        for (const [i, member] of chunk.entries())
          member.track.take(samples[i] ?? new Float64Array(), false, context.settings, context.latestMs)
      } catch (error) {
        log.warn({ reason: describeError(error) }, 'cart motion read failed; continuing from the newest records')
      }
    })
  }

  /** Finds the departure times of devices that left parking unobserved, or may have left again after the last save. */
  #recallDepartures(behind: ReadonlySet<CartMember>): void {
    const unknown = [...this.#byDevice.values()].filter((member) => member.isDepartureUnknown || behind.has(member))
    if (unknown.length === 0) return
    const newestMs = Math.max(...unknown.map(({ track }) => track.motion.fix?.atMs ?? 0))
    const { read } = this.#deps.store
    const exits = nullIfDamaged(() => read.lastExits('parking', newestMs - DAY_MS)) ?? []
    const exitOf = new Map(exits.map(({ hardwareId, shortId, atMs }) => [`${hardwareId} ${shortId}`, atMs]))
    for (const member of unknown) {
      const { hardwareId, shortId } = member.device.row
      const atMs = exitOf.get(`${hardwareId} ${shortId}`)
      if (atMs !== undefined && (member.isDepartureUnknown || atMs > (member.outSinceMs ?? 0))) member.left(atMs)
    }
  }
}

function isBehind({ device, track }: CartMember): boolean {
  const { gps, battery } = device.reported
  const { fix, battery: voltage } = track.motion
  const isGpsBehind = gps !== null && (fix === null || gps.atMs > fix.atMs)
  return isGpsBehind || (battery !== null && (voltage === null || battery.atMs > voltage.atMs))
}

function startOf({ device, track }: CartMember) {
  const { row, reported } = device
  const { fix, battery } = track.motion
  return {
    deviceId: row.deviceId,
    gpsAfterMs: fix?.atMs ?? (reported.gps?.atMs ?? 0) - LOOKBACK_MS,
    batteryAfterMs: battery?.atMs ?? (reported.battery?.atMs ?? 0) - LOOKBACK_MS,
  }
}
