import type { Events } from '#gateway/events.ts'
import type { Clock } from '#shared/time.ts'
import type { Device } from './fleet.ts'

/** MQTT connection of a device; its identity is the object. */
export interface DeviceConnection {
  readonly address: string
  readonly sinceMs: number
}

/**
 * Online state of devices: online while the broker holds a connection on which the device has not signed off. Compares
 * connections by identity, never by count: the end of an old one may be reported after its successor's start.
 */
export class Presence {
  readonly #connections = new Map<Device, DeviceConnection>()
  readonly #events: Events
  readonly #clock: Clock

  constructor(events: Events, clock: Clock) {
    this.#events = events
    this.#clock = clock
  }

  connected(device: Device, connection: DeviceConnection): void {
    this.#connections.set(device, connection)
    this.#set(device, true)
  }

  disconnected(device: Device, connection: DeviceConnection): void {
    if (this.#connections.get(device) !== connection) return
    this.#connections.delete(device)
    this.#set(device, false)
  }

  /** Applies a status received on `connection`; ignores the last will of a connection that was replaced. */
  reported(device: Device, connection: DeviceConnection | null, isOnline: boolean): void {
    if (connection === null || this.#connections.get(device) !== connection) return
    this.#set(device, isOnline)
  }

  connectionOf(device: Device): DeviceConnection | undefined {
    return this.#connections.get(device)
  }

  #set(device: Device, isOnline: boolean): void {
    if (device.isOnline === isOnline) return
    device.isOnline = isOnline
    if (!device.isRegistered) return
    this.#events.emit('presenceChanged', {
      hardwareId: device.row.hardwareId,
      isOnline,
      atMs: this.#clock.nowMs(),
    })
  }
}
