import { describeError } from '#shared/errors.ts'
import { hashSecret } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { Device } from '../fleet.ts'
import type { Devices } from './devices.ts'

interface KeyHandshakeDeps {
  devices: Pick<Devices, 'issuePassword' | 'confirmPassword'>
  log: Log
  /** Sends `dev/{id}/key` to this connection; false if it is closed or has not subscribed. */
  send: (payload: string) => boolean
}

/**
 * Gives a device that used the shared key a password of its own; one instance for each connection. Until the device
 * confirms its password, the shared key is accepted too, so that one of the two works whatever message is lost.
 */
export class KeyHandshake {
  readonly #deps: KeyHandshakeDeps
  /** Password issued on this connection; repeated unchanged, since the device may already have saved it. */
  #password: string | null = null
  #isSent = false
  #isListening = false
  #isIssuing = false

  constructor(deps: KeyHandshakeDeps) {
    this.#deps = deps
  }

  /** Offers the password with which the device was registered. */
  registered(device: Device, password: string): void {
    this.#password = password
    this.offer(device)
  }

  /** Records the subscription of the `key` topic; `device` is null while it is not registered. */
  listen(device: Device | null): void {
    this.#isListening = true
    if (device !== null) this.offer(device)
  }

  /** Sends the device its password, unless it has proved one or has not subscribed. */
  offer(device: Device): void {
    if (!device.row.isOnSharedKey || !this.#isListening || this.#isIssuing) return
    if (this.#password === null) void this.#issue(device)
    else this.#send(this.#password)
  }

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
      this.#deps.log.warn(
        { hardwareId, reason: describeError(error) },
        'password issue failed; will retry at next connection',
      )
    }
    this.#isIssuing = false
  }

  #send(password: string): void {
    if (this.#deps.send(JSON.stringify({ password }))) this.#isSent = true
  }
}
