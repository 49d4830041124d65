import { DeviceClock } from '#domain/device-clock.ts'
import { emptyState, type LatestBattery, type LatestGps } from '#domain/latest-state.ts'
import { RecentMessages } from '#domain/recent-messages.ts'
import { NotFoundError } from '#shared/errors.ts'
import type { TelemetryStream } from '#shared/ids.ts'
import type { Registration } from '#shared/registrations.ts'
import { NO_ZONE_STATE } from '#shared/zones/watch.ts'
import type { Store } from '#store/store.ts'
import type { DeviceRow } from '#store/tables/devices.ts'
import type { DeviceState } from '#store/telemetry/device-state.ts'
import { nullIfDamaged } from './null-if-damaged.ts'

/** What is known of a device, with its newest records. Replaced as a whole after each commit that moved it. */
export interface ReportedState extends DeviceState {
  gps: LatestGps | null
  battery: LatestBattery | null
}

/** A registered device, as all of the gateway shares it. */
export interface Device {
  row: DeviceRow
  reported: ReportedState
  isOnline: boolean
  /** The newest time the gateway gave to what the device said without one. */
  newestReceiveMs: number
  /** It has asked the gateway for the time: what it says about the time may be ours. */
  asksForTime: boolean
  /** What its messages say of its clock. */
  readonly clock: DeviceClock
  /** How often its id was taken in contests of two connections since the start, and when that was last. */
  takenOver: number
  contestedAtMs: number | null
  /** The last of its messages, as they came. */
  readonly recent: RecentMessages
  /** False once it is taken off the register; code that still holds the object must let go of it. */
  isRegistered: boolean
}

/** Throws `device_not_found` if the device was taken off the register since it was looked up. */
export function requireRegistered({ isRegistered, row }: Device): void {
  if (!isRegistered) throw noSuchDevice(row.hardwareId)
}

function noSuchDevice(id: string): NotFoundError {
  return new NotFoundError('device_not_found', `there is no device ${id}`)
}

type RecordSource = Pick<Store['read'], 'latestGps' | 'latestBattery'>

/** The newest GPS record; one after `untilMs`, dated by a wrong clock, only if there is no other. */
function latestGpsOf(source: RecordSource, deviceId: number, untilMs: number): LatestGps | null {
  return source.latestGps(deviceId, untilMs) ?? source.latestGps(deviceId)
}

/** The newest battery record, by the same rule. */
function latestBatteryOf(source: RecordSource, deviceId: number, untilMs: number): LatestBattery | null {
  return source.latestBattery(deviceId, untilMs) ?? source.latestBattery(deviceId)
}

/**
 * Takes the newest records of streams from the store. Only in the `onWritten` of a write: then nothing is on its way to
 * the disk that memory knows nothing of, or the other way round.
 */
export function rereadLatest(
  device: Device,
  streams: readonly TelemetryStream[],
  source: RecordSource,
  untilMs: number,
): void {
  const { deviceId } = device.row
  device.reported = {
    ...device.reported,
    ...(streams.includes('gps') ? { gps: latestGpsOf(source, deviceId, untilMs) } : {}),
    ...(streams.includes('battery') ? { battery: latestBatteryOf(source, deviceId, untilMs) } : {}),
  }
}

/** All registered devices with their latest state, in memory: live reads never touch the disk. */
export class Fleet {
  readonly #byHardwareId = new Map<string, Device>()
  readonly #byShortId = new Map<string, Device>()
  #sorted: Device[] | undefined

  /** Records after `untilMs` were dated by a wrong clock: they are the latest only of a device without any other. */
  load(source: RecordSource & Pick<Store['read'], 'devices'>, untilMs: number): void {
    for (const { row, known } of source.devices()) {
      this.#insert(row, {
        ...known,
        gps: nullIfDamaged(() => latestGpsOf(source, row.deviceId, untilMs)),
        battery: nullIfDamaged(() => latestBatteryOf(source, row.deviceId, untilMs)),
      })
    }
  }

  add(row: DeviceRow): Device {
    return this.#insert(row, {
      state: emptyState(),
      updatedAtMs: row.updatedAtMs,
      lastRespondedAtMs: null,
      gps: null,
      battery: null,
      watch: NO_ZONE_STATE,
    })
  }

  remove(hardwareId: string): Device | undefined {
    const device = this.#byHardwareId.get(hardwareId)
    if (device === undefined) return undefined
    device.isRegistered = false
    this.#byHardwareId.delete(hardwareId)
    this.#byShortId.delete(device.row.shortId)
    this.#sorted = undefined
    return device
  }

  byHardwareId(hardwareId: string): Device | undefined {
    return this.#byHardwareId.get(hardwareId)
  }

  /** By hardware id, else by short id. */
  find(id: string): Device | undefined {
    return this.#byHardwareId.get(id) ?? this.#byShortId.get(id)
  }

  /** Throws `device_not_found`. */
  require(id: string): Device {
    const device = this.find(id)
    if (device === undefined) throw noSuchDevice(id)
    return device
  }

  /** The registration a hardware id has now. */
  registrationOf(hardwareId: string): Registration | undefined {
    const row = this.#byHardwareId.get(hardwareId)?.row
    return row && { shortId: row.shortId, sinceMs: row.createdAtMs }
  }

  /** All devices by hardware id, ascending. Do not change the array. */
  all(): readonly Device[] {
    this.#sorted ??= [...this.#byHardwareId.values()].sort((a, b) => (a.row.hardwareId < b.row.hardwareId ? -1 : 1))
    return this.#sorted
  }

  get size(): number {
    return this.#byHardwareId.size
  }

  /** Devices that came with the shared key and have no password of their own yet. */
  get sharedKeyCount(): number {
    let count = 0
    for (const { row } of this.#byHardwareId.values()) if (row.isOnSharedKey) count++
    return count
  }

  /** Devices whose clock is wrong. */
  get wrongClockCount(): number {
    let count = 0
    for (const { clock } of this.#byHardwareId.values()) if (clock.offMs !== null) count++
    return count
  }

  #insert(row: DeviceRow, reported: ReportedState): Device {
    const device: Device = {
      row,
      reported,
      isOnline: false,
      newestReceiveMs: reported.lastRespondedAtMs ?? 0,
      asksForTime: reported.state.asksForTime === true,
      clock: new DeviceClock(),
      takenOver: 0,
      contestedAtMs: null,
      recent: new RecentMessages(),
      isRegistered: true,
    }
    this.#byHardwareId.set(row.hardwareId, device)
    this.#byShortId.set(row.shortId, device)
    this.#sorted = undefined
    return device
  }
}
