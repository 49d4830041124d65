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

/** Server that accepts a new certificate while it runs. */
interface SecureServer {
  setSecureContext(options: SecureContextOptions, isTrustedByAll: boolean): void
}

const CHECK_EVERY_MS = 10_000
const EXPIRY_WARNING_MS = 14 * DAY_MS

export interface CertificateOptions {
  files: KeyPairFiles
  settings: KeyPairSettings
  clock: Clock
  log: Log
  /** Certificate of a private authority. No HSTS: a browser without trust in it could not bypass the warning. */
  isOfOwnAuthority?: boolean
  /** Public host of the program; a certificate that does not cover it is logged. */
  publicHost?: string | undefined
  checkEveryMs?: number
}

/** Certificate reloaded when its files change, in any way or order; unusable ones are logged, the current one stays. */
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
  /** Last logged reason why the files are unusable. */
  #problem: string | undefined
  #validityCheckedAtMs = 0
  #timer: NodeJS.Timeout | undefined
  /** Latest check. Checks run one at a time, or an older pair might replace a newer one. */
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

  /** Provides a server with the certificate once loaded, and with every later one. Must be called before `start`. */
  secure(server: SecureServer): void {
    this.#servers.push(server)
  }

  /** Throws a `ConfigError` that names the setting if there is no usable certificate. */
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

  /** Reloads the files on request and always logs the outcome. */
  async reload(): Promise<void> {
    this.#problem = undefined
    const before = this.#inUse
    await this.#check()
    if (this.#inUse === before && this.#problem === undefined) this.#log.info({}, 'the certificate has not changed')
  }

  /** Expiry in seconds since 1970; NaN before the start. */
  get expiresAtS(): number {
    return (this.#inUse?.expiresAtMs ?? Number.NaN) / 1000
  }

  /** Available after the start. */
  get status(): CertificateStatus {
    return { expiresAtMs: this.#inUse?.expiresAtMs ?? Number.NaN, problem: this.#problem ?? null }
  }

  /** True if the certificate in use covers the host. */
  isFor(host: string): boolean {
    return this.#inUse?.isFor(host) ?? false
  }

  #check(): Promise<void> {
    this.#checked = this.#checked.then(() => this.#readAgain())
    return this.#checked
  }

  // Compares contents, which detects renames, swapped links and changes within one tick of the file system's clock.
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
    this.#log.info({ subject, expiresAt: toIso(expiresAtMs) }, 'certificate loaded')
    if (this.#publicHost !== undefined && !pair.isFor(this.#publicHost))
      this.#log.warn({ subject, host: this.#publicHost }, 'certificate does not cover the host of the public address')
    this.#checkValidity(pair)
  }

  /** Logs each problem only once: files may be read while they are being replaced, and may stay invalid. */
  #warn(problem: string): void {
    if (problem === this.#problem) return
    this.#problem = problem
    this.#log.warn({ reason: problem }, 'certificate reload failed; keeping the current one')
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
