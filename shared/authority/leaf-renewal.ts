import { ConfigError, describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { type Clock, MINUTE_MS, toIso } from '#shared/time.ts'
import type { Authority } from './authority.ts'
import type { AuthorityFolder } from './authority-folder.ts'
import { allNames, type HostNames } from './host-names.ts'

/** What the renewal of a certificate needs to know. */
export interface LeafRenewalOptions {
  folder: AuthorityFolder
  /** What the machine is called now. */
  hosts: () => HostNames
  clock: Clock
  log: Log
}

/**
 * Keeps the certificate of a machine one that browsers take: makes another a month before it ends, and when the machine
 * has another name or address. Without an authority that can be read the one that is there stays.
 */
export class LeafRenewal implements Component {
  readonly #options: LeafRenewalOptions
  #timer: NodeJS.Timeout | undefined
  /** Why none could be made, as last logged. */
  #problem: string | undefined

  constructor(options: LeafRenewalOptions) {
    this.#options = options
  }

  /** Throws a `ConfigError` when there is no certificate and none can be made. */
  async start(): Promise<void> {
    await this.runOnce()
    const { folder } = this.#options
    if (this.#problem !== undefined && folder.readLeaf() === undefined)
      throw new ConfigError(
        `${this.#problem}; put its last backup back, or make another with "cartbarn tls init --replace", which each tablet must then trust anew`,
      )
    this.#timer = setInterval(() => void this.runOnce(), MINUTE_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  /** Why no certificate can be made; undefined while all is well. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Looks now whether another certificate is due, and makes it. */
  async runOnce(): Promise<void> {
    const { folder, hosts, clock, log } = this.#options
    try {
      // loaded by those only who have an authority
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
          'made a certificate',
        )
      }
      const fault = clockFault(authority, clock.nowMs())
      if (fault === undefined) this.#problem = undefined
      else this.#warn(fault)
    } catch (error) {
      this.#warn(describeError(error))
    }
  }

  /** Once for each problem. */
  #warn(problem: string): void {
    if (problem === this.#problem) return
    this.#problem = problem
    this.#options.log.warn({ reason: problem }, 'could not renew the certificate; tries again every minute')
  }
}

/** By a clock that is wrong nothing is renewed. */
function clockFault({ madeAtMs, expiresAtMs }: Authority, nowMs: number): string | undefined {
  if (nowMs < madeAtMs)
    return `by the clock of this machine its authority is not made yet (${toIso(madeAtMs)}): set the clock`
  if (nowMs < expiresAtMs) return undefined
  return `by the clock of this machine its authority ended (${toIso(expiresAtMs)}): set the clock, or make another with "cartbarn tls init --replace", which each tablet must then trust`
}

function readOrExplain<T>(folder: AuthorityFolder, readAuthority: (pem: string) => T): T {
  const pem = folder.readAuthority()
  try {
    return readAuthority(pem)
  } catch (error) {
    throw new Error(`${folder.authorityPath} cannot be used: ${describeError(error)}`, { cause: error })
  }
}
