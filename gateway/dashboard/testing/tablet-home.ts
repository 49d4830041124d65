import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { openProfile } from './chromium.ts'
import { findProgram } from './programs.ts'

/**
 * The name by which a tablet reaches the gateway in a test: not one of its own, to which browsers give what they give
 * to TLS.
 */
export const CLUBHOUSE = 'clubhouse.local'
/** Every name is this machine. */
const NAMES = '--host-resolver-rules=MAP * 127.0.0.1'

/** Debian's libnss3-tools: what tells Chromium whom to trust. */
export function findCertutil(): string | undefined {
  return findProgram(['certutil'])
}

/** The home of somebody who uses Chromium, with the authorities that it trusts; all names lead to this machine. */
export class TabletHome {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cartbarn-tablet-'))
  readonly #contexts: BrowserContext[] = []

  /** As a person would by the guide. Chromium looks when it starts. */
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
