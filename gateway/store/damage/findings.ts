import { EventEmitter } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Counter } from '#shared/counter.ts'
import type { Log } from '#shared/log.ts'
import { DAMAGE_NOTES } from '../db/files.ts'

/** Result of handling damage. */
export type DamageOutcome =
  /** The remaining rows are served; the rest was quarantined. */
  | 'set_aside'
  /** Repaired; nothing is missing. */
  | 'mended'
  /** Acknowledged data was lost. */
  | 'lost'
  /** Not repaired; the damage persists and `repair` is needed. */
  | 'unreadable'

/** Damage that was found: the disk returned content other than what was written to it. */
export interface DamageFinding {
  /** Name of a table, or `log` for the write-ahead log, `schema`, or `file`. */
  place: string
  outcome: DamageOutcome
  /** Text for people, one or two sentences: the damage, its consequence and its extent. */
  detail: string
  foundAtMs: number
}

interface FindingsEvents {
  found: [finding: DamageFinding]
}

/** The newest finding of a place and outcome replaces earlier ones; there are far fewer tables than this. */
const MAX_FINDINGS = 200

/** All damage found by this process. `/health`, metrics and alerts read it from here: each finding is reported once. */
export class DamageFindings extends EventEmitter<FindingsEvents> {
  readonly counts = new Counter(['set_aside', 'mended', 'lost', 'unreadable'])
  readonly #log: Log
  readonly #findings = new Map<string, DamageFinding>()
  #path: string | undefined

  constructor(log: Log) {
    super()
    this.#log = log
  }

  /** Saves findings in this data folder from now on, and deletes those of an earlier process. */
  noteIn(dataDir: string): void {
    this.#path = join(dataDir, DAMAGE_NOTES)
    this.#note()
  }

  /** Findings, oldest first; one for each place and outcome. */
  get all(): readonly DamageFinding[] {
    return [...this.#findings.values()]
  }

  /** Reports a finding once; the same place, outcome and detail are not reported again. */
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

  /** Forgets findings that an admin has accepted. */
  accept(findings: readonly DamageFinding[]): void {
    for (const { place, outcome } of findings) this.#findings.delete(`${place} ${outcome}`)
    this.#note()
  }

  #note(): void {
    if (this.#path === undefined) return
    try {
      if (this.#findings.size === 0) rmSync(this.#path, { force: true })
      else writeFileSync(this.#path, `${JSON.stringify(this.all)}\n`, { mode: 0o600 })
    } catch {
      // the disk does not accept writes; the finding is in the log
    }
  }
}
