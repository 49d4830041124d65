import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { AlertJson } from '#shared/wire/alerts.ts'
import type { CartJson } from '#shared/wire/carts.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'

/** Minimum time between two screen updates. */
const UPDATE_EVERY_MS = 250

/**
 * Latest state of all carts, devices and unclosed alerts from the gateway. Messages update maps; `version` increases at
 * most four times a second, and components that show the fleet then read it again.
 */
export class Fleet {
  readonly #carts = new Map<string, CartJson>()
  readonly #devices = new Map<string, DeviceJson>()
  readonly #alerts = new Map<string, AlertJson>()
  /** Cart keyed by the device that determines its position. */
  readonly #cartOf = new Map<string, string>()
  readonly #version = signal(0)
  readonly #setTimer: (action: () => void, ms: number) => unknown
  #isPublished = true
  #isKnown = false

  constructor(setTimer: (action: () => void, ms: number) => unknown = (action, ms) => setTimeout(action, ms)) {
    this.#setTimer = setTimer
  }

  /** Increases when any part of the fleet has changed. */
  get version(): ReadonlySignal<number> {
    return this.#version
  }

  /** True once the gateway has sent the fleet: before, a missing cart means nothing. `version` increases with it. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  get carts(): ReadonlyMap<string, CartJson> {
    return this.#carts
  }

  get devices(): ReadonlyMap<string, DeviceJson> {
    return this.#devices
  }

  /** Open and acknowledged alerts keyed by alert_id. */
  get alerts(): ReadonlyMap<string, AlertJson> {
    return this.#alerts
  }

  take(message: ServerMessage): void {
    if (message.type === 'snapshot') this.#takeSnapshot(message)
    else if (message.type === 'cart') this.#takeCart(message.cart)
    else if (message.type === 'cart_removed') this.#carts.delete(message.cart)
    else if (message.type === 'device_data') this.#takeData(message)
    else if (message.type === 'device_status') this.#takeStatus(message.hardwareId, message.payload.is_online)
    else if (message.type === 'device_changed') this.#devices.set(message.hardwareId, message.device)
    else if (message.type === 'device_removed') this.#devices.delete(message.hardwareId)
    else if (message.type === 'alert') this.#takeAlert(message.alert)
    else return
    this.#changed()
  }

  /** Clears the fleet: data received before a restart or by a different user is invalid. */
  clear(): void {
    this.#isKnown = false
    for (const known of [this.#carts, this.#devices, this.#alerts, this.#cartOf]) known.clear()
    this.#changed()
  }

  #takeSnapshot({ carts, devices, alerts }: Extract<ServerMessage, { type: 'snapshot' }>): void {
    this.clear()
    this.#isKnown = true
    for (const device of devices) this.#devices.set(device.hardware_id, device)
    for (const cart of carts) this.#takeCart(cart)
    for (const alert of alerts) this.#alerts.set(alert.alert_id, alert)
  }

  #takeCart(cart: CartJson): void {
    const known = this.#carts.get(cart.cart)
    // its evaluated state may be older than the fix in the telemetry
    const isBehind =
      known?.position != null &&
      cart.position !== null &&
      known.position.hardware_id === cart.position.hardware_id &&
      known.position.at > cart.position.at
    this.#carts.set(cart.cart, isBehind ? { ...cart, position: known.position } : cart)
    for (const { hardware_id } of cart.devices) this.#cartOf.set(hardware_id, cart.cart)
  }

  /** Applies telemetry. A cart arrives when its state changes; in between it moves with the device of its position. */
  #takeData({ hardwareId, payload, timestamp, last_responded_at }: Data): void {
    const cart = this.#carts.get(this.#cartOf.get(hardwareId) ?? '')
    if (cart === undefined) return
    const { lat, long, speed } = payload
    const speaks = cart.position === null || cart.position.hardware_id === hardwareId
    const hasFix = typeof lat === 'number' && typeof long === 'number' && speaks
    this.#carts.set(cart.cart, {
      ...cart,
      last_heard_at: last_responded_at,
      position: hasFix
        ? {
            lat,
            long,
            at: timestamp,
            hardware_id: hardwareId,
            speed: typeof speed === 'number' ? speed : null,
            heading: typeof payload.heading === 'number' ? payload.heading : (cart.position?.heading ?? null),
          }
        : cart.position,
    })
  }

  #takeStatus(hardwareId: string, isOnline: boolean): void {
    const device = this.#devices.get(hardwareId)
    if (device !== undefined) this.#devices.set(hardwareId, { ...device, is_online: isOnline })
    const cart = this.#carts.get(this.#cartOf.get(hardwareId) ?? '')
    if (cart !== undefined)
      this.#carts.set(cart.cart, {
        ...cart,
        devices: cart.devices.map((one) => (one.hardware_id === hardwareId ? { ...one, is_online: isOnline } : one)),
      })
  }

  #takeAlert(alert: AlertJson): void {
    if (alert.closed_at === null) this.#alerts.set(alert.alert_id, alert)
    else this.#alerts.delete(alert.alert_id)
  }

  #changed(): void {
    if (!this.#isPublished) return
    this.#isPublished = false
    this.#setTimer(() => {
      this.#isPublished = true
      this.#version.value++
    }, UPDATE_EVERY_MS)
  }
}

type Data = Extract<ServerMessage, { type: 'device_data' }>
