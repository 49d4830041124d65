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

/** State of a device with its newest records. Replaced as a whole after each commit that changed it. */
export interface ReportedState extends DeviceState {
  gps: LatestGps | null
  battery: LatestBattery | null
}

/** Registered device, shared by the whole gateway. */
export interface Device {
  row: DeviceRow
  reported: ReportedState
  isOnline: boolean
  /** Newest time that the gateway assigned to a report without one. */
  newestReceiveMs: number
  /** True if the device requests the time from the gateway, so that its times may be the gateway's own. */
  asksForTime: boolean
  /** State of the device's clock, derived from its messages. */
  readonly clock: DeviceClock
  /** Number of takeovers between two connections with its id since the start, and time of the last one. */
  takenOver: number
  contestedAtMs: number | null
  /** Its last messages, as received. */
  readonly recent: RecentMessages
  /** False once the device is removed; code that still holds the object must release it. */
  isRegistered: boolean
}

/** Throws `device_not_found` if the device was removed since it was found. */
export function requireRegistered({ isRegistered, row }: Device): void {
  if (!isRegistered) throw noSuchDevice(row.hardwareId)
}

function noSuchDevice(id: string): NotFoundError {
  return new NotFoundError('device_not_found', `there is no device ${id}`)
}

type RecordSource = Pick<Store['read'], 'latestGps' | 'latestBattery'>

/** Returns the newest GPS record; one after `untilMs`, dated by a wrong clock, only if no other exists. */
function latestGpsOf(source: RecordSource, deviceId: number, untilMs: number): LatestGps | null {
  return source.latestGps(deviceId, untilMs) ?? source.latestGps(deviceId)
}

/** Returns the newest battery record, by the same rule. */
function latestBatteryOf(source: RecordSource, deviceId: number, untilMs: number): LatestBattery | null {
  return source.latestBattery(deviceId, untilMs) ?? source.latestBattery(deviceId)
}

/** Reads the newest records of streams. Call only in the `onWritten` of a write: memory and store agree only then. */
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

/** Registered devices with their latest state, in memory: live reads never access the disk. */
export class Fleet {
  readonly #byHardwareId = new Map<string, Device>()
  readonly #byShortId = new Map<string, Device>()
  #sorted: Device[] | undefined

  /** Loads all devices. Records after `untilMs` are misdated: they are the latest only of a device without others. */
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

  /** Finds a device by hardware id, else by short id. */
  find(id: string): Device | undefined {
    return this.#byHardwareId.get(id) ?? this.#byShortId.get(id)
  }

  /** Throws `device_not_found`. */
  require(id: string): Device {
    const device = this.find(id)
    if (device === undefined) throw noSuchDevice(id)
    return device
  }

  registrationOf(hardwareId: string): Registration | undefined {
    const row = this.#byHardwareId.get(hardwareId)?.row
    return row && { shortId: row.shortId, sinceMs: row.createdAtMs }
  }

  /** Returns all devices in ascending order of hardware id. Do not change the array. */
  all(): readonly Device[] {
    this.#sorted ??= [...this.#byHardwareId.values()].sort((a, b) => (a.row.hardwareId < b.row.hardwareId ? -1 : 1))
    return this.#sorted
  }

  get size(): number {
    return this.#byHardwareId.size
  }

  /** Number of devices that enrolled with the shared key and have no password of their own yet. */
  get sharedKeyCount(): number {
    let count = 0
    for (const { row } of this.#byHardwareId.values()) if (row.isOnSharedKey) count++
    return count
  }

  get wrongClockCount(): number {
    let count = 0
    for (const { clock } of this.#byHardwareId.values()) if (clock.isWrong) count++
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
