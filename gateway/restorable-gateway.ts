import type { createApp } from '#api/app.ts'
import type { DiskProbe } from '#domain/written-disk.ts'
import type { IntentInbox } from '#services/replication/intent-inbox.ts'
import type { Restores } from '#services/restores.ts'
import type { AdminKeyFile } from '#shared/admin-key-file.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'

export interface Gateway extends Component {
  /** App itself, for requests without a socket. */
  app: ReturnType<typeof createApp>
  /** Name of the site; empty until staff have set it. */
  siteName(): string
  /** Identity of its data, which differs between gateways; a repair or a restore changes it. */
  identity(): string
  intents: IntentInbox
  /** Disk probe, for monitors that check if the gateway still writes. */
  disk: DiskProbe
  /** Addresses in use, once started. */
  addresses(): Addresses
  /** Runs retention immediately, without waiting for its time. */
  runRetention(): Promise<void>
  /** Reads the certificate again, if there is one, without waiting until the change is detected. */
  reloadCertificate(): Promise<void>
  /** File with the admin's key while the key is unused; null later, and if the key was configured. */
  adminKeyFile(): AdminKeyFile | null
  /** Code that signs a browser in, once; null after an admin's sign-in or use of the key. For terminals, never logs. */
  setupCode(): string | null
}

export interface Addresses {
  http: string
  mqtt?: string
  mqtts?: string
}

/** Gateway that another one replaces in the same process when a backup is restored. */
export class RestorableGateway implements Gateway {
  readonly #build: () => Gateway
  readonly #restores: Restores
  readonly #log: Log
  #current: Gateway
  readonly #restarts = new SerialQueue()
  #isRestarting = false
  #isStopped = false

  constructor(build: () => Gateway, restores: Restores, log: Log) {
    this.#build = build
    this.#restores = restores
    this.#log = log
    this.#current = build()
    restores.onRequest = () => {
      // the next restore may be requested before the last component has started
      void this.#restarts.take(() => this.#restart())
    }
  }

  start(): Promise<void> {
    return this.#current.start()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#restores.stop()
    await this.#current.stop()
    if (!this.#isRestarting) return
    await this.#restarts.idle()
    // reverts whatever the restart has begun meanwhile
    await this.#current.stop()
  }

  get app(): Gateway['app'] {
    return this.#current.app
  }

  get intents(): Gateway['intents'] {
    return this.#current.intents
  }

  readonly disk: Gateway['disk'] = this.#disk()

  siteName(): string {
    return this.#current.siteName()
  }

  identity(): string {
    return this.#current.identity()
  }

  addresses(): ReturnType<Gateway['addresses']> {
    return this.#current.addresses()
  }

  runRetention(): Promise<void> {
    return this.#current.runRetention()
  }

  reloadCertificate(): Promise<void> {
    return this.#current.reloadCertificate()
  }

  adminKeyFile(): ReturnType<Gateway['adminKeyFile']> {
    return this.#current.adminKeyFile()
  }

  setupCode(): string | null {
    return this.#current.setupCode()
  }

  /** Disk probe that also counts the progress of a restore, for which the store is stopped. */
  #disk(): Gateway['disk'] {
    const current = () => this.#current.disk
    const restores = () => this.#restores
    return {
      get answeredAtMs() {
        return Math.max(current().answeredAtMs, restores().answeredAtMs)
      },
      get health() {
        return current().health
      },
      probe: () => current().probe(),
    }
  }

  async #restart(): Promise<void> {
    if (this.#isStopped) return
    this.#isRestarting = true
    try {
      this.#log.info({}, 'stopping to restore a backup')
      do {
        await this.#current.stop()
        if (this.#isStopped) return
        this.#current = this.#build()
        await this.#current.start()
        // once more for TLS, whose listeners need the authority before they are built
      } while (this.#restores.takeAuthority())
      this.#log.info({ ...this.addresses() }, 'listening again after a restore')
    } catch (error) {
      if (this.#isStopped) return
      this.#log.error({ reason: describeError(error) }, 'not started again after a restore')
      // the service manager starts the program again
      setImmediate(() => {
        throw error
      })
    } finally {
      this.#isRestarting = false
    }
  }
}
