import { ForbiddenError, InvalidRequestError } from '../../shared/errors.ts'
import { hashSecret, newMqttPassword } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import type { Clock } from '../../shared/time.ts'
import type { DeviceType } from '../devices/device-type.ts'
import { type Caller, canSee } from '../domain/access.ts'
import type { Events } from '../events.ts'
import type { DeviceChange } from '../store/devices.ts'
import type { Store } from '../store/store.ts'
import type { Device, Fleet } from './fleet.ts'
import type { QueuedMessage } from './ingest.ts'

interface DevicesDeps {
  store: Pick<Store<QueuedMessage>, 'write'>
  fleet: Fleet
  deviceTypes: readonly DeviceType[]
  events: Events
  clock: Clock
  log: Log
}

interface NewDeviceFields {
  hardwareId: string
  deviceType: string
  name: string | null
  groupId: number | null
}

/** The register of devices: who is in it, what they are called, what they log in with. */
export class Devices {
  readonly #deps: DevicesDeps
  #deleting: Promise<void> = Promise.resolve()

  constructor(deps: DevicesDeps) {
    this.#deps = deps
  }

  /** Finds a device by hardware id or short id. Throws `device_not_found`, or `device_forbidden` outside the scope. */
  requireVisible(caller: Caller, id: string): Device {
    const device = this.#deps.fleet.require(id)
    if (!canSee(caller, device.row.hardwareId))
      throw new ForbiddenError('device_forbidden', `device ${id} is outside your scope`)
    return device
  }

  /** Registers a device. Returns the password it logs in with: kept as a hash, shown once. */
  async register(fields: NewDeviceFields): Promise<{ device: Device; password: string }> {
    const password = newMqttPassword()
    return { device: await this.registerWithSecret(fields, password), password }
  }

  /** Registers a device that has a secret already: the enrolment key it logged in with. */
  async registerWithSecret(fields: NewDeviceFields, secret: string): Promise<Device> {
    this.#requireType(fields.deviceType)
    requireNoGroup(fields.groupId)
    const { store, fleet, clock, events } = this.#deps
    const row = await store.write('createDevice', {
      ...fields,
      mqttPasswordHash: hashSecret(secret),
      nowMs: clock.nowMs(),
    })
    const device = fleet.add(row)
    events.emit('deviceRegistered', { hardwareId: row.hardwareId })
    return device
  }

  async change(
    device: Device,
    fields: {
      name?: string | null | undefined
      deviceType?: string | undefined
      groupId?: number | null | undefined
    },
  ): Promise<Device> {
    if (fields.deviceType !== undefined) this.#requireType(fields.deviceType)
    requireNoGroup(fields.groupId ?? null)
    if (fields.name === undefined && fields.deviceType === undefined) return device
    await this.#write(device, {
      ...(fields.name === undefined ? {} : { name: fields.name }),
      ...(fields.deviceType === undefined ? {} : { deviceType: fields.deviceType }),
    })
    return device
  }

  /** The old password opens nothing any more when this returns; an open connection stays. */
  async rotatePassword(device: Device): Promise<string> {
    const password = newMqttPassword()
    await this.#write(device, { mqttPasswordHash: hashSecret(password) })
    return password
  }

  /** Off the register at once; the telemetry follows in steps behind the scenes. */
  async delete(device: Device): Promise<void> {
    const { store, fleet, events } = this.#deps
    const { hardwareId } = device.row
    await store.write('deleteDevice', { hardwareId })
    fleet.remove(hardwareId)
    events.emit('deviceRemoved', { hardwareId })
    this.startDeletions()
  }

  /** Goes on deleting the telemetry of deleted devices, also those of before a restart or a fault of the store. */
  startDeletions(): void {
    this.#deleting = this.#deleting.then(() => this.#deleteTelemetry())
  }

  async #deleteTelemetry(): Promise<void> {
    try {
      while (await this.#deps.store.write('deleteTelemetryStep', undefined)) {
        // each step is a short transaction in the common queue: devices' messages go in between
      }
    } catch (error) {
      this.#deps.log.warn({ reason: String(error) }, 'telemetry of a deleted device is still there')
    }
  }

  async #write(device: Device, change: Omit<DeviceChange, 'hardwareId' | 'nowMs'>): Promise<void> {
    const { store, clock } = this.#deps
    device.row = await store.write('updateDevice', {
      ...change,
      hardwareId: device.row.hardwareId,
      nowMs: clock.nowMs(),
    })
  }

  #requireType(deviceType: string): void {
    const { deviceTypes } = this.#deps
    if (deviceTypes.some(({ name }) => name === deviceType)) return
    const known = deviceTypes.map(({ name }) => name).join(', ')
    throw new InvalidRequestError('unknown_device_type', `device_type must be one of: ${known}`, [
      { in: 'body', name: 'device_type', code: 'unknown_device_type', detail: `must be one of: ${known}` },
    ])
  }
}

function requireNoGroup(groupId: number | null): void {
  if (groupId === null) return
  throw new InvalidRequestError('unknown_group', `there is no group ${groupId}`, [
    { in: 'body', name: 'group_id', code: 'unknown_group', detail: `there is no group ${groupId}` },
  ])
}
