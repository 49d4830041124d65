import { describeError } from '#shared/errors.ts'
import { hashSecret } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { Device } from '../fleet.ts'
import type { Devices } from './devices.ts'

interface KeyHandshakeDeps {
  devices: Pick<Devices, 'issuePassword' | 'confirmPassword'>
  log: Log
  /** Sends `dev/{id}/key` to the connection this belongs to; false when that is gone or has not subscribed. */
  send: (payload: string) => boolean
}

/**
 * Gets a device that came with the shared key a password of its own; lasts as long as the connection. Until the device
 * says that it has it, the shared key opens too: whatever is lost on the way, one of the two does.
 */
export class KeyHandshake {
  readonly #deps: KeyHandshakeDeps
  /** Issued on this connection. Sent again it is the same, so what the device may have kept already stays right. */
  #password: string | null = null
  #isSent = false
  #isListening = false
  #isIssuing = false

  constructor(deps: KeyHandshakeDeps) {
    this.#deps = deps
  }

  /** The device was registered with this password. */
  registered(device: Device, password: string): void {
    this.#password = password
    this.offer(device)
  }

  /** The device has subscribed to its `key` topic; null while it is not registered. */
  listen(device: Device | null): void {
    this.#isListening = true
    if (device !== null) this.offer(device)
  }

  /** Sends the device its password, unless it has shown one or does not listen. */
  offer(device: Device): void {
    if (!device.row.isOnSharedKey || !this.#isListening || this.#isIssuing) return
    if (this.#password === null) void this.#issue(device)
    else this.#send(this.#password)
  }

  /** The device says that it has its password. */
  confirm(device: Device): void {
    if (this.#password === null || !this.#isSent) return
    void this.#deps.devices.confirmPassword(device, hashSecret(this.#password))
  }

  async #issue(device: Device): Promise<void> {
    this.#isIssuing = true
    try {
      this.#password = await this.#deps.devices.issuePassword(device)
      if (this.#password !== null) this.#send(this.#password)
    } catch (error) {
      const { hardwareId } = device.row
      this.#deps.log.warn({ hardwareId, reason: describeError(error) }, 'could not issue a device its password')
    }
    this.#isIssuing = false
  }

  #send(password: string): void {
    if (this.#deps.send(JSON.stringify({ password }))) this.#isSent = true
  }
}
