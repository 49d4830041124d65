import { EventEmitter } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Counter } from '#shared/counter.ts'
import type { Log } from '#shared/log.ts'
import { DAMAGE_NOTES } from '../db/files.ts'

/** What was done about damage, or could not be. */
export type DamageOutcome =
  /** What is left of it is served; the rest was put aside. */
  | 'set_aside'
  /** Nothing is missing. */
  | 'mended'
  /** Something acknowledged is gone. */
  | 'lost'
  /** It is still there, and in the way: `repair` is needed. */
  | 'unreadable'

/** Damage that was found: what the disk returned is not what was written to it. */
export interface DamageFinding {
  /** A table of the database, or `log` for its write-ahead log, `schema`, or `file`. */
  place: string
  outcome: DamageOutcome
  /** One or two sentences for people: what is wrong, what it means, how much of it. */
  detail: string
  foundAtMs: number
}

interface FindingsEvents {
  found: [finding: DamageFinding]
}

/** The newest of one place and outcome stands for all of them; so many places are far more than there are tables. */
const MAX_FINDINGS = 200

/**
 * All damage that this process has found, wherever it was found: at the start, by a read, by a write, by a check.
 * `/health`, metrics and alerts take it from here, so that it is said once.
 */
export class DamageFindings extends EventEmitter<FindingsEvents> {
  /** Findings by outcome. */
  readonly counts = new Counter(['set_aside', 'mended', 'lost', 'unreadable'])
  readonly #log: Log
  readonly #findings = new Map<string, DamageFinding>()
  #path: string | undefined

  constructor(log: Log) {
    super()
    this.#log = log
  }

  /** Findings are noted in this data folder from now on; those of another process are forgotten. */
  noteIn(dataDir: string): void {
    this.#path = join(dataDir, DAMAGE_NOTES)
    this.#note()
  }

  /** Oldest first; one of each place and outcome. */
  get all(): readonly DamageFinding[] {
    return [...this.#findings.values()]
  }

  /** Says it once: the same place, outcome and detail again is no news. */
  report(finding: DamageFinding): void {
    const { place, outcome, detail } = finding
    const key = `${place} ${outcome}`
    const known = this.#findings.get(key)
    if (known?.detail === detail) return
    if (known === undefined && this.#findings.size === MAX_FINDINGS) return
    this.#findings.set(key, finding)
    this.counts.add(outcome)
    this.#log.error({ place, outcome }, detail)
    this.#note()
    this.emit('found', finding)
  }

  #note(): void {
    if (this.#path === undefined) return
    try {
      if (this.#findings.size === 0) rmSync(this.#path, { force: true })
      else writeFileSync(this.#path, `${JSON.stringify(this.all)}\n`, { mode: 0o600 })
    } catch {
      // a disk that takes nothing: the log has the finding
    }
  }
}
