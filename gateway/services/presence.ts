import type { Events } from '#gateway/events.ts'
import type { Clock } from '#shared/time.ts'
import type { Device } from './fleet.ts'

/** One MQTT connection of a device; its identity is the object. */
export interface DeviceConnection {
  readonly address: string
  readonly sinceMs: number
}

/**
 * Which devices are here: the broker holds a connection and the device has not said goodbye on it. Goes by the identity
 * of the connection, never by counting, because the end of an old connection may be told after the start of its
 * successor.
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

  /**
   * The device said on `connection` whether it is here; the last will of a connection that was replaced says nothing.
   */
  said(device: Device, connection: DeviceConnection | null, isOnline: boolean): void {
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
