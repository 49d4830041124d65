import { type Caller, canSee } from '#domain/access.ts'
import type { Events } from '#gateway/events.ts'
import type { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError, ForbiddenError, InvalidRequestError } from '#shared/errors.ts'
import { hashSecret, newMqttPassword } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { DeviceChange } from '#store/tables/devices.ts'
import type { DeviceTypes } from '../configuration/device-types.ts'
import type { Groups } from '../configuration/groups.ts'
import type { ConfigPublisher } from '../configuration/publisher.ts'
import { type Device, type Fleet, requireRegistered } from '../fleet.ts'
import type { BlockDamage } from '../telemetry/block-damage.ts'

interface DevicesDeps {
  store: Pick<Store, 'write'>
  fleet: Fleet
  groups: Pick<Groups, 'has'>
  deviceTypes: DeviceTypes
  publisher: ConfigPublisher
  damage: Pick<BlockDamage, 'summary' | 'load'>
  /** Shared by all that changes blocks of telemetry. */
  maintenance: SerialQueue
  events: Events
  clock: Clock
  log: Log
}

interface NewDeviceFields {
  hardwareId: string
  deviceType: string
  name: string | null
  cart: string | null
  groupId: number | null
}

/** A new device and the password it logs in with, which is known only now. */
interface RegisteredDevice {
  device: Device
  password: string
}

/** What is changed of a device; what is absent stays. */
interface DeviceFields {
  name?: string | null | undefined
  cart?: string | null | undefined
  deviceType?: string | undefined
  groupId?: number | null | undefined
}

/** Steps of a deletion in one maintenance turn. */
const TURN_STEPS = 50

/** The register of devices: their ids, names, types and passwords. */
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
  register(fields: NewDeviceFields): Promise<RegisteredDevice> {
    return this.#register(fields, false, () => null)
  }

  /** Registers a device that came with the shared key, unless there is a reason against it when its turn has come. */
  enrol(
    fields: Pick<NewDeviceFields, 'hardwareId' | 'deviceType' | 'cart'>,
    refusal: () => string | null,
  ): Promise<RegisteredDevice> {
    return this.#register({ ...fields, name: null, groupId: null }, true, refusal)
  }

  /** Issues a device that is still on the shared key another password; null when it needs none any more. */
  async issuePassword(device: Device): Promise<string | null> {
    const password = newMqttPassword()
    const input = { hardwareId: device.row.hardwareId, mqttPasswordHash: hashSecret(password) }
    const issued = await this.#deps.store.write('issuePassword', input, (row) => {
      if (row !== null) device.row = row
    })
    return issued === null ? null : password
  }

  /** The device has shown that it has this password: the shared key is void for it. Never rejects. */
  async confirmPassword(device: Device, mqttPasswordHash: string): Promise<void> {
    const { store, clock, log } = this.#deps
    const { hardwareId } = device.row
    try {
      await store.write('confirmPassword', { hardwareId, mqttPasswordHash, nowMs: clock.nowMs() }, (row) => {
        if (row === null) return
        device.row = row
        log.info({ hardwareId }, 'a device has its own password; the shared key is void for it')
      })
    } catch (error) {
      // with its next login it shows it again
      log.warn({ hardwareId, reason: describeError(error) }, 'could not note that a device has its own password')
    }
  }

  async change(device: Device, fields: DeviceFields): Promise<Device> {
    if (fields.deviceType === undefined && fields.groupId === undefined) {
      if (!areNamesSame(device.row, fields)) await this.#write(device, namesIn(fields))
      return device
    }
    await this.#place(device, fields)
    return device
  }

  /** Puts a device into a group, or into none. Returns the one it was in. Throws `unknown_group`. */
  assign(device: Device, groupId: number | null): Promise<number | null> {
    return this.#place(device, { groupId })
  }

  /** Returns the group the device was in. */
  #place(device: Device, fields: DeviceFields): Promise<number | null> {
    const { store, deviceTypes, publisher, clock, events } = this.#deps
    return publisher.inTurn(async (publish) => {
      requireRegistered(device)
      if (fields.deviceType !== undefined) deviceTypes.requireKnown(fields.deviceType, 'body')
      this.#requireGroup(fields.groupId ?? null)
      const known = device.row
      const { hardwareId, groupId: previousGroupId } = known
      const { deviceType = known.deviceType, groupId = previousGroupId } = fields
      const isPlaceSame = deviceType === known.deviceType && groupId === previousGroupId
      if (isPlaceSame && areNamesSame(known, fields)) return previousGroupId
      const subject = { hardwareId, deviceType, groupId }
      // only what was asked for: name and cart may be about to change outside these turns
      const otherGroupAckMs = device.reported.state.applied.sz?.atMs ?? null
      const left = groupId === previousGroupId ? {} : { otherGroupAckMs }
      const change = { ...subject, ...left, ...namesIn(fields), nowMs: clock.nowMs() }
      await publish([subject], undefined, (publication, commit) =>
        store.write('updateDevice', { ...change, publication }, (row) => {
          device.row = row
          commit()
          events.emit('deviceChanged', { hardwareId })
          if (groupId !== previousGroupId) events.emit('groupChanged', { hardwareId, groupId, previousGroupId })
        }),
      )
      return previousGroupId
    })
  }

  /** The old password opens nothing any more when this returns, and what was open with it is closed. */
  async rotatePassword(device: Device): Promise<string> {
    const { store, events, clock } = this.#deps
    const password = newMqttPassword()
    const { hardwareId } = device.row
    const change = { hardwareId, mqttPasswordHash: hashSecret(password), nowMs: clock.nowMs() }
    await store.write('updateDevice', change, (row) => {
      device.row = row
      events.emit('devicePasswordIssued', { hardwareId })
    })
    return password
  }

  /** Off the register at once; the telemetry follows in steps behind the scenes. */
  async delete(device: Device): Promise<void> {
    const { store, fleet, publisher, events, clock } = this.#deps
    const { hardwareId } = device.row
    await publisher.inTurn(async () => {
      requireRegistered(device)
      await store.write('deleteDevice', { hardwareId, nowMs: clock.nowMs() }, () => {
        fleet.remove(hardwareId)
        publisher.forget(hardwareId)
        // now, before a device registered again under this id receives anything
        events.emit('deviceRemoved', { hardwareId })
      })
    })
    this.startDeletions()
  }

  /** Goes on deleting the telemetry of deleted devices, also after a restart or a fault of the store. */
  startDeletions(): void {
    this.#deleting = this.#deleting.then(() => this.#deleteTelemetry())
  }

  async #deleteTelemetry(): Promise<void> {
    const { maintenance, damage, log } = this.#deps
    try {
      while (await maintenance.take(() => this.#deleteSome())) {
        // between two takes, other maintenance has its turn
      }
      // what was put aside of it is gone, too
      if (damage.summary.blocks > 0) damage.load()
    } catch (error) {
      log.warn({ reason: String(error) }, 'could not delete the telemetry of a deleted device; tries again later')
    }
  }

  /**
   * Each step is a short transaction in the common queue: devices' messages go in between. Returns if there is more.
   */
  async #deleteSome(): Promise<boolean> {
    for (let steps = 0; steps < TURN_STEPS; steps++) {
      if (!(await this.#deps.store.write('deleteTelemetryStep', undefined))) return false
    }
    return true
  }

  async #write(device: Device, change: Omit<DeviceChange, 'hardwareId' | 'nowMs'>): Promise<void> {
    const { store, clock, events } = this.#deps
    const { hardwareId } = device.row
    // in the order of the writes, as all that replace the row
    await store.write('updateDevice', { ...change, hardwareId, nowMs: clock.nowMs() }, (row) => {
      device.row = row
      events.emit('deviceChanged', { hardwareId })
    })
  }

  #register(fields: NewDeviceFields, isOnSharedKey: boolean, refusal: () => string | null): Promise<RegisteredDevice> {
    const { store, fleet, deviceTypes, publisher, clock, events } = this.#deps
    return publisher.inTurn(async (publish) => {
      const reason = refusal()
      if (reason !== null) throw new Error(reason)
      deviceTypes.requireKnown(fields.deviceType, 'body')
      this.#requireGroup(fields.groupId)
      const { hardwareId } = fields
      const password = newMqttPassword()
      const secret = { mqttPasswordHash: hashSecret(password), isOnSharedKey }
      await publish([fields], undefined, (publication, commit) =>
        store.write('createDevice', { ...fields, ...secret, nowMs: clock.nowMs(), publication }, (row) => {
          fleet.add(row)
          // who waits to enrol as this device is not the one that was registered, and is sent nothing of it
          if (!isOnSharedKey) events.emit('devicePasswordIssued', { hardwareId })
          commit()
          events.emit('deviceRegistered', { hardwareId })
        }),
      )
      return { device: fleet.require(hardwareId), password }
    })
  }

  #requireGroup(groupId: number | null): void {
    if (groupId === null || this.#deps.groups.has(groupId)) return
    throw new InvalidRequestError('unknown_group', `there is no group ${groupId}`, [
      { in: 'body', name: 'group_id', code: 'unknown_group', detail: `there is no group ${groupId}` },
    ])
  }
}

/** What people call the device and its cart, as far as it is asked for. */
function namesIn({ name, cart }: DeviceFields): { name?: string | null; cart?: string | null } {
  return { ...(name === undefined ? {} : { name }), ...(cart === undefined ? {} : { cart }) }
}

function areNamesSame(row: Device['row'], { name = row.name, cart = row.cart }: DeviceFields): boolean {
  return name === row.name && cart === row.cart
}
