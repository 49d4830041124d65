import { EventEmitter } from 'node:events'
import type { Log } from '#shared/log.ts'
import { Tally } from '#shared/tally.ts'

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
  readonly counts = new Tally(['set_aside', 'mended', 'lost', 'unreadable'])
  readonly #log: Log
  readonly #findings = new Map<string, DamageFinding>()

  constructor(log: Log) {
    super()
    this.#log = log
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
    this.emit('found', finding)
  }
}
