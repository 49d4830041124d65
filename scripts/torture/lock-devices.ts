import { type BenchDevice, loginOf } from '#scripts/rig/gateway-api.ts'
import { SessionClient } from '#scripts/rig/session-client.ts'

/** Result of comparing acknowledged lock events with the stored ones. */
export interface LockEventCheck {
  acknowledged: number
  missing: number
  /** Stored more than once. */
  twice: number
}

const MAX_UNACKNOWLEDGED = 20

/** Store to search for lock events: a gateway, or a hub. */
export interface StoredLockEvents {
  lockEventCodes(hardwareId: string): Promise<string[]>
}

interface LockDevice {
  hardwareId: string
  client: SessionClient
  made: number
  acknowledged: Set<string>
}

/** Devices that report only lock events, each identified by a code of its own. */
export class LockDevices {
  readonly #devices: LockDevice[]
  readonly #gapMs: number
  readonly #prefix: string
  #timer: NodeJS.Timeout | undefined

  /** The codes consist of `prefix` and a number. */
  constructor(devices: readonly BenchDevice[], port: number, perDevicePerS: number, prefix = 'e') {
    this.#prefix = prefix
    this.#gapMs = 1000 / (devices.length * perDevicePerS)
    this.#devices = devices.map((login) => {
      const client = new SessionClient({ port, ...loginOf(login), isPersistent: false })
      const device: LockDevice = { hardwareId: login.hardwareId, client, made: 0, acknowledged: new Set() }
      client.onAcknowledged = ({ payload }) => device.acknowledged.add(JSON.parse(payload).code)
      return device
    })
  }

  start(): void {
    for (const { client } of this.#devices) client.goOnline()
    let turn = 0
    this.#timer = setInterval(() => {
      const device = this.#devices[turn++ % this.#devices.length]
      if (device !== undefined) report(device, this.#prefix)
    }, this.#gapMs)
  }

  /** Ends new events; those in flight are still repeated until they are acknowledged. */
  stopReporting(): void {
    clearInterval(this.#timer)
  }

  get unacknowledged(): number {
    return this.#devices.reduce((sum, { client }) => sum + client.unacknowledged, 0)
  }

  close(): void {
    this.stopReporting()
    for (const { client } of this.#devices) client.goOffline('politely')
  }

  /** Searches for every event acknowledged so far. */
  async check(stored: StoredLockEvents): Promise<LockEventCheck> {
    const check: LockEventCheck = { acknowledged: 0, missing: 0, twice: 0 }
    for (const { hardwareId, acknowledged } of this.#devices) {
      const wanted = [...acknowledged]
      const codes = await stored.lockEventCodes(hardwareId)
      const known = new Set(codes)
      check.acknowledged += wanted.length
      check.missing += wanted.filter((code) => !known.has(code)).length
      check.twice += codes.length - known.size
    }
    return check
  }
}

function report(device: LockDevice, prefix: string): void {
  if (device.client.unacknowledged >= MAX_UNACKNOWLEDGED) return
  const n = ++device.made
  const event = n % 2 === 0 ? 'lock' : 'unlock'
  const code = `${prefix}${n}`
  const payload = JSON.stringify({ eid: code, event, source: 'rfid', code, ts: Date.now() })
  device.client.publish({ topic: `dev/${device.hardwareId}/evt`, payload, qos: 1, retain: false })
}
