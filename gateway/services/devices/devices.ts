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
  /** Lock shared by all work that changes telemetry blocks. */
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

/** New device and its MQTT password, which is known only now. */
interface RegisteredDevice {
  device: Device
  password: string
}

/** Changes to a device; absent fields stay as they are. */
interface DeviceFields {
  name?: string | null | undefined
  cart?: string | null | undefined
  deviceType?: string | undefined
  groupId?: number | null | undefined
}

/** Maximum number of deletion steps while the maintenance lock is held. */
const TURN_STEPS = 50

/** Registry of devices: their ids, names, types and passwords. */
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

  /** Registers a device. Returns its MQTT password, which is stored as a hash and shown only once. */
  register(fields: NewDeviceFields): Promise<RegisteredDevice> {
    return this.#register(fields, false, () => null)
  }

  /** Registers a device that used the shared key, unless `refusal` returns a reason when the request is processed. */
  enrol(
    fields: Pick<NewDeviceFields, 'hardwareId' | 'deviceType' | 'cart'>,
    refusal: () => string | null,
  ): Promise<RegisteredDevice> {
    return this.#register({ ...fields, name: null, groupId: null }, true, refusal)
  }

  /** Issues another password to a device that still uses the shared key; null if it no longer needs one. */
  async issuePassword(device: Device): Promise<string | null> {
    const password = newMqttPassword()
    const input = { hardwareId: device.row.hardwareId, mqttPasswordHash: hashSecret(password) }
    const issued = await this.#deps.store.write('issuePassword', input, (row) => {
      if (row !== null) device.row = row
    })
    return issued === null ? null : password
  }

  /** Records that the device has proved this password, and revokes the shared key for it. Never rejects. */
  async confirmPassword(device: Device, mqttPasswordHash: string): Promise<void> {
    const { store, clock, log } = this.#deps
    const { hardwareId } = device.row
    try {
      await store.write('confirmPassword', { hardwareId, mqttPasswordHash, nowMs: clock.nowMs() }, (row) => {
        if (row === null) return
        device.row = row
        log.info({ hardwareId }, 'device password confirmed; shared key revoked for this device')
      })
    } catch (error) {
      // the device proves it again at its next login
      log.warn(
        { hardwareId, reason: describeError(error) },
        'password confirmation write failed; will retry at next login',
      )
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

  /** Assigns a device to a group, or to none. Returns its former group. Throws `unknown_group`. */
  assign(device: Device, groupId: number | null): Promise<number | null> {
    return this.#place(device, { groupId })
  }

  /** Returns the former group of the device. */
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
      // writes only requested fields: name and cart may change concurrently, outside this queue
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

  /** Issues a new password. When it resolves, the old one is invalid and its connections are closed. */
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

  /** Removes a device from the registry immediately; its telemetry is deleted in steps in the background. */
  async delete(device: Device): Promise<void> {
    const { store, fleet, publisher, events, clock } = this.#deps
    const { hardwareId } = device.row
    await publisher.inTurn(async () => {
      requireRegistered(device)
      await store.write('deleteDevice', { hardwareId, nowMs: clock.nowMs() }, () => {
        fleet.remove(hardwareId)
        publisher.forget(hardwareId)
        // immediately, before a device registered again under this id receives anything
        events.emit('deviceRemoved', { hardwareId })
      })
    })
    this.startDeletions()
  }

  /** Continues to delete the telemetry of deleted devices, also after a restart or a fault of the store. */
  startDeletions(): void {
    this.#deleting = this.#deleting.then(() => this.#deleteTelemetry())
  }

  async #deleteTelemetry(): Promise<void> {
    const { maintenance, damage, log } = this.#deps
    try {
      while (await maintenance.take(() => this.#deleteSome())) {
        // releases the lock between two rounds for other maintenance
      }
      // the deletion includes its quarantined blocks
      if (damage.summary.blocks > 0) damage.load()
    } catch (error) {
      log.warn({ reason: String(error) }, 'telemetry deletion of a deleted device failed; will retry later')
    }
  }

  /** Deletes in short transactions, so that device messages are stored in between. Returns true if there is more. */
  async #deleteSome(): Promise<boolean> {
    for (let steps = 0; steps < TURN_STEPS; steps++) {
      if (!(await this.#deps.store.write('deleteTelemetryStep', undefined))) return false
    }
    return true
  }

  async #write(device: Device, change: Omit<DeviceChange, 'hardwareId' | 'nowMs'>): Promise<void> {
    const { store, clock, events } = this.#deps
    const { hardwareId } = device.row
    // the callback runs in the order of the writes, like all others that replace the row
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
          // a client that waits to enrol under this id is not the registered device, and must not receive its data
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

function namesIn({ name, cart }: DeviceFields): { name?: string | null; cart?: string | null } {
  return { ...(name === undefined ? {} : { name }), ...(cart === undefined ? {} : { cart }) }
}

function areNamesSame(row: Device['row'], { name = row.name, cart = row.cart }: DeviceFields): boolean {
  return name === row.name && cart === row.cart
}
