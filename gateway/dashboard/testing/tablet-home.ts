import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { openProfile } from './chromium.ts'
import { findProgram } from './programs.ts'

/** Host name of the gateway for tablets in tests: not a local name, which browsers treat like TLS. */
export const CLUBHOUSE = 'clubhouse.local'
/** Resolves every name to this machine. */
const NAMES = '--host-resolver-rules=MAP * 127.0.0.1'

/** Returns the program of Debian's libnss3-tools that sets the authorities Chromium trusts. */
export function findCertutil(): string | undefined {
  return findProgram(['certutil'])
}

/** Home folder of a Chromium user with its trusted authorities; all names resolve to this machine. */
export class TabletHome {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cartbarn-tablet-'))
  readonly #contexts: BrowserContext[] = []

  /** Trusts a certificate as a user does by the guide. Chromium reads it when it starts. */
  trust(certificate: string): void {
    const folder = join(this.#folder, '.pki', 'nssdb')
    const file = join(this.#folder, 'authority.crt')
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, certificate)
    const run = (...argv: string[]) => execFileSync('certutil', ['-d', `sql:${folder}`, ...argv])
    run('-N', '--empty-password')
    run('-A', '-n', 'cartbarn', '-t', 'C,,', '-i', file)
  }

  async open(): Promise<BrowserContext> {
    const context = await openProfile(join(this.#folder, 'profile'), [NAMES], { HOME: this.#folder })
    this.#contexts.push(context)
    return context
  }

  async remove(): Promise<void> {
    for (const context of this.#contexts) await context.close()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
