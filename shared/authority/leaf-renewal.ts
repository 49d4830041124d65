import { ConfigError, describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, MINUTE_MS, toIso } from '#shared/time.ts'
import type { Authority } from './authority.ts'
import type { AuthorityFolder } from './authority-folder.ts'
import { allNames, type HostNames } from './host-names.ts'

export interface LeafRenewalOptions {
  folder: AuthorityFolder
  hosts: () => HostNames
  clock: Clock
  log: Log
}

/**
 * Keeps the certificate of the host acceptable to browsers: issues a new one a month before expiry and when a name or
 * address of the host changes. If the authority cannot be read, the existing certificate stays.
 */
export class LeafRenewal implements Component {
  readonly #options: LeafRenewalOptions
  #timer: NodeJS.Timeout | undefined
  /** Last logged reason why no certificate could be issued. */
  #problem: string | undefined

  constructor(options: LeafRenewalOptions) {
    this.#options = options
  }

  /** Throws a `ConfigError` if there is no certificate and none can be issued. */
  async start(): Promise<void> {
    await this.runOnce()
    const { folder } = this.#options
    if (this.#problem !== undefined && folder.readLeaf() === undefined)
      throw new ConfigError(
        `${this.#problem}; restore it from a backup, or create a new one with "cartbarn tls init --replace", which ` +
          'must then be installed on each tablet',
      )
    this.#timer = setInterval(() => void this.runOnce(), MINUTE_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  /** Reason why no certificate can be issued; undefined while all is well. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Checks if a new certificate is due, and issues it. */
  async runOnce(): Promise<void> {
    const { folder, hosts, clock, log } = this.#options
    try {
      // loaded on demand: most programs have no authority
      const [{ readAuthority, issueLeaf }, { leafDue }] = await Promise.all([
        import('./authority.ts'),
        import('./certificate-due.ts'),
      ])
      const authority = readOrExplain(folder, readAuthority)
      const names = allNames(authority, hosts())
      const due = leafDue(authority, folder.readLeaf(), names, clock.nowMs())
      if (due !== null) {
        folder.writeLeaf(issueLeaf(authority, names, due.issuedAtMs))
        log.info(
          {
            reason: due.reason,
            names: [...names.names, ...names.addresses],
            issuedAt: toIso(due.issuedAtMs),
          },
          'certificate issued',
        )
      }
      const fault = clockFault(authority, clock.nowMs())
      if (fault === undefined) this.#problem = undefined
      else this.#warn(fault)
    } catch (error) {
      this.#warn(describeError(error))
    }
  }

  /** Logs each problem only once. */
  #warn(problem: string): void {
    if (problem === this.#problem) return
    this.#problem = problem
    this.#options.log.warn({ reason: problem }, 'certificate renewal failed; retrying every minute')
  }
}

/** Describes a wrong clock, by which nothing is renewed. */
function clockFault({ madeAtMs, expiresAtMs }: Authority, nowMs: number): string | undefined {
  if (nowMs < madeAtMs)
    return `by the clock of the gateway computer the authority is not valid yet (${toIso(madeAtMs)}): set the clock`
  if (nowMs < expiresAtMs) return undefined
  return (
    `by the clock of the gateway computer the authority has expired (${toIso(expiresAtMs)}): set the clock, or ` +
    'create a new one with "cartbarn tls init --replace", which must then be installed on each tablet'
  )
}

function readOrExplain<T>(folder: AuthorityFolder, readAuthority: (pem: string) => T): T {
  const pem = folder.readAuthority()
  try {
    return readAuthority(pem)
  } catch (error) {
    throw new Error(`${folder.authorityPath} cannot be used: ${describeError(error)}`, { cause: error })
  }
}
