import type { SecureContextOptions } from 'node:tls'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, DAY_MS, toIso } from '#shared/time.ts'
import {
  type CertificateStatus,
  checkPemPair,
  type KeyPair,
  type KeyPairFiles,
  type KeyPairSettings,
  type PemPair,
  readPemPair,
  secureOptions,
} from '#shared/tls.ts'

/** A server that takes another certificate while it runs. */
interface SecureServer {
  setSecureContext(options: SecureContextOptions, isTrustedByAll: boolean): void
}

const CHECK_EVERY_MS = 10_000
const EXPIRY_WARNING_MS = 14 * DAY_MS

/** What a certificate needs to know. */
export interface CertificateOptions {
  files: KeyPairFiles
  settings: KeyPairSettings
  clock: Clock
  log: Log
  /**
   * Of an authority that only some browsers trust: they are not told to stay with HTTPS, as one that does not trust it
   * yet could not get past.
   */
  isOfOwnAuthority?: boolean
  /** The host by which people reach the program: a certificate that is not for it is logged. */
  publicHost?: string | undefined
  checkEveryMs?: number
}

/**
 * The certificate of a program, read again whenever its files change. What cannot be used is logged and the
 * certificate in use stays, so files may be replaced in any way and in either order.
 */
export class Certificate implements Component {
  readonly #servers: SecureServer[] = []
  readonly #files: KeyPairFiles
  readonly #settings: KeyPairSettings
  readonly #clock: Clock
  readonly #log: Log
  readonly #isOfOwnAuthority: boolean
  readonly #publicHost: string | undefined
  readonly #checkEveryMs: number
  #inUse: KeyPair | undefined
  /** Why the files cannot be used, as last logged. */
  #problem: string | undefined
  #validityCheckedAtMs = 0
  #timer: NodeJS.Timeout | undefined
  /** The last check that was begun: one at a time, or an older pair might be put in place over a newer one. */
  #checked: Promise<void> = Promise.resolve()

  constructor(options: CertificateOptions) {
    this.#files = options.files
    this.#settings = options.settings
    this.#clock = options.clock
    this.#log = options.log
    this.#isOfOwnAuthority = options.isOfOwnAuthority ?? false
    this.#publicHost = options.publicHost
    this.#checkEveryMs = options.checkEveryMs ?? CHECK_EVERY_MS
  }

  /** Gives a server the certificate when it is loaded, and every later one. To be called before `start`. */
  secure(server: SecureServer): void {
    this.#servers.push(server)
  }

  /** Throws a `ConfigError` that names the setting when there is no certificate that can be used. */
  async start(): Promise<void> {
    this.#use(checkPemPair(await this.#read(), this.#settings))
    this.#timer = setInterval(() => {
      this.#checkValidityDaily()
      void this.#check()
    }, this.#checkEveryMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#checked
  }

  /** Reads the files now, on request, and logs the outcome in any case. */
  async reload(): Promise<void> {
    this.#problem = undefined
    const before = this.#inUse
    await this.#check()
    if (this.#inUse === before && this.#problem === undefined) this.#log.info({}, 'the certificate has not changed')
  }

  /** Seconds since 1970; not a number before the start. */
  get expiresAtS(): number {
    return (this.#inUse?.expiresAtMs ?? Number.NaN) / 1000
  }

  /** Once it was started. */
  get status(): CertificateStatus {
    return { expiresAtMs: this.#inUse?.expiresAtMs ?? Number.NaN, problem: this.#problem ?? null }
  }

  /** Whether the certificate in use is for a host. */
  isFor(host: string): boolean {
    return this.#inUse?.isFor(host) ?? false
  }

  #check(): Promise<void> {
    this.#checked = this.#checked.then(() => this.#readAgain())
    return this.#checked
  }

  // Compares contents, which sees renamed files, swapped links and changes within one tick of the file system's clock.
  async #readAgain(): Promise<void> {
    try {
      const pems = await this.#read()
      if (this.#inUse === undefined || !isSame(this.#inUse, pems)) this.#use(checkPemPair(pems, this.#settings))
      this.#problem = undefined
    } catch (error) {
      this.#warn(describeError(error))
    }
  }

  #read(): Promise<PemPair> {
    return readPemPair(this.#files, this.#settings)
  }

  #use(pair: KeyPair): void {
    const isTrustedByAll = !pair.isSelfSigned && !this.#isOfOwnAuthority
    for (const server of this.#servers) server.setSecureContext(secureOptions(pair), isTrustedByAll)
    this.#inUse = pair
    const { subject, expiresAtMs } = pair
    this.#log.info({ subject, expiresAt: toIso(expiresAtMs) }, 'loaded the certificate')
    if (this.#publicHost !== undefined && !pair.isFor(this.#publicHost))
      this.#log.warn({ subject, host: this.#publicHost }, 'the certificate is not for the host of the public address')
    this.#checkValidity(pair)
  }

  /** Once for each problem: files that are being replaced are looked at in the middle of it, and may stay so. */
  #warn(problem: string): void {
    if (problem === this.#problem) return
    this.#problem = problem
    this.#log.warn({ reason: problem }, 'could not reload the certificate; keeps the one in use')
  }

  #checkValidityDaily(): void {
    if (this.#inUse !== undefined && this.#clock.nowMs() >= this.#validityCheckedAtMs + DAY_MS)
      this.#checkValidity(this.#inUse)
  }

  #checkValidity({ subject, validFromMs, expiresAtMs }: KeyPair): void {
    const nowMs = this.#clock.nowMs()
    this.#validityCheckedAtMs = nowMs
    const fields = { subject, validFrom: toIso(validFromMs), expiresAt: toIso(expiresAtMs) }
    if (nowMs >= expiresAtMs) this.#log.warn(fields, 'the certificate has expired')
    else if (nowMs < validFromMs) this.#log.warn(fields, 'the certificate is not valid yet')
    else if (nowMs >= expiresAtMs - EXPIRY_WARNING_MS) this.#log.warn(fields, 'the certificate expires soon')
  }
}

function isSame(a: PemPair, b: PemPair): boolean {
  return a.cert.equals(b.cert) && a.key.equals(b.key)
}
