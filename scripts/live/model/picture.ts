// frames have every shape
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Frame = any

/** Knowledge of a tablet about the course by the frames of its channel alone, since its last snapshot. */
export class Picture {
  readonly devices = new Map<string, Frame>()
  readonly carts = new Map<string, Frame>()
  readonly alerts = new Map<string, Frame>()
  /** Numbers of the frames about each lock event, by its id, since `countedFromMs`. */
  readonly lockEvents = new Map<string, number>()
  countedFromMs: number | null = null
  /** Numbers of readings of each device, live or late, since `countedFromMs`. */
  readonly dataCounts = new Map<string, number>()
  /** Last state of each command to a lock. */
  readonly lockCommands = new Map<string, string>()
  /** Version of the zones, once it has changed since the connection began. */
  zonesVersion: number | null = null
  recallId: string | null | undefined
  /** Frames that contradict an earlier one. */
  readonly faults: string[] = []
  readonly #wanted: ReadonlySet<string>
  readonly #dataAt = new Map<string, string>()

  constructor(wanted: readonly string[]) {
    this.#wanted = new Set(wanted)
  }

  clear(): void {
    const { devices, carts, alerts, lockEvents, dataCounts, lockCommands } = this
    for (const one of [devices, carts, alerts, lockEvents, dataCounts, lockCommands, this.#dataAt]) one.clear()
    this.zonesVersion = null
    this.recallId = undefined
  }

  /** Begins to count frames at a time, or at none that is known. */
  countAgain(fromMs: number | null): void {
    this.countedFromMs = fromMs
    this.lockEvents.clear()
    this.dataCounts.clear()
  }

  watches(hardwareId: string): boolean {
    return this.#wanted.has('*') || this.#wanted.has(hardwareId)
  }

  take(frame: Frame): void {
    switch (frame.type) {
      case 'snapshot':
        for (const device of frame.devices) this.devices.set(device.hardware_id, device)
        for (const cart of frame.carts) this.carts.set(cart.cart, cart)
        for (const alert of frame.alerts) this.alerts.set(alert.alert_id, alert)
        break
      case 'device_data':
        this.#takeData(frame)
        break
      case 'device_backfill':
        this.#count(frame.hardwareId, frame.count)
        break
      case 'device_status':
        this.#takeStatus(frame.hardwareId, frame.payload.is_online)
        break
      case 'device_changed':
        this.devices.set(frame.hardwareId, frame.device)
        break
      case 'device_removed':
        this.devices.delete(frame.hardwareId)
        break
      case 'device_locked':
      case 'device_unlocked':
        this.lockEvents.set(frame.eventId, (this.lockEvents.get(frame.eventId) ?? 0) + 1)
        break
      case 'cart':
        this.carts.set(frame.cart.cart, frame.cart)
        break
      case 'cart_removed':
        this.carts.delete(frame.cart)
        break
      case 'alert':
        if (frame.alert.closed_at === null) this.alerts.set(frame.alert.alert_id, frame.alert)
        else this.alerts.delete(frame.alert.alert_id)
        break
      case 'command_status':
        if (frame.command !== 'locate') this.lockCommands.set(frame.commandId, frame.status)
        break
      case 'zones_changed':
        this.zonesVersion = frame.version
        break
      case 'recall':
        this.recallId = frame.event === 'ended' ? null : frame.recall.recall_id
    }
  }

  #count(hardwareId: string, readings: number): void {
    this.dataCounts.set(hardwareId, (this.dataCounts.get(hardwareId) ?? 0) + readings)
  }

  #takeData({ hardwareId, payload, timestamp, updated_at, last_responded_at }: Frame): void {
    const before = this.#dataAt.get(hardwareId) ?? ''
    if (timestamp <= before) this.faults.push(`device_data of ${hardwareId} at ${timestamp} after that of ${before}`)
    this.#dataAt.set(hardwareId, timestamp)
    this.#count(hardwareId, 1)
    const device = this.devices.get(hardwareId)
    if (device === undefined) return
    const attributes = { ...device.attributes, ...payload }
    this.devices.set(hardwareId, { ...device, attributes, updated_at, last_responded_at })
  }

  #takeStatus(hardwareId: string, isOnline: boolean): void {
    const device = this.devices.get(hardwareId)
    if (device !== undefined) this.devices.set(hardwareId, { ...device, is_online: isOnline })
    for (const cart of this.carts.values())
      for (const one of cart.devices) if (one.hardware_id === hardwareId) one.is_online = isOnline
  }
}

/** Text of a value that is the same for equal values. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
}
