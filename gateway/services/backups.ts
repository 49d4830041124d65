import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { ConflictError, describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { startThread } from '#shared/thread.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { KeptBackup } from '#store/backups/prune-backups.ts'
import type { S3Settings } from '#store/backups/s3/s3-address.ts'
import { replaceFile } from '#store/backups/synced-files.ts'
import type { BackupMade } from '#store/backups/write-backup.ts'
import type { Store } from '#store/store.ts'

/** What the nightly backup is to do. */
export interface BackupSettings {
  /** A folder, whose last part is made when it is missing, or `s3://bucket/prefix`. */
  readonly target: string
  readonly mustBeMounted: boolean
  readonly s3: S3Settings | undefined
  readonly passphrase: string
  readonly keep: number
  /** By the clocks of the site. */
  readonly hour: number
}

/** What the thread of a backup is given. */
export interface BackupRequest extends Omit<BackupSettings, 'hour'> {
  readonly dataDir: string
  readonly atMs: number
  /** Beginnings of sets that were found or made at the target before, as JSON. */
  readonly knownSets: readonly string[]
}

/** The thread sends `opened` once it knows the set that it writes to, and one of the others at its end. */
export type BackupAnswer =
  | { kind: 'opened'; header: string }
  | { kind: 'made'; made: BackupMade }
  | { kind: 'failed'; reason: string }

/** How the backups are. */
export interface BackupStatus {
  readonly target: string
  readonly keep: number
  readonly isRunning: boolean
  /** None is made: the data was used on another machine, whose backups they may be. */
  readonly isHeld: boolean
  readonly lastGoodMs: number | null
  readonly isOverdue: boolean
  /** Why the last attempt failed; null when it did not. */
  readonly fault: string | null
  readonly triedAtMs: number | null
  /** Those that were there after the last good one, the oldest first. */
  readonly stay: readonly KeptBackup[]
}

interface Deps {
  store: Pick<Store, 'write'>
  /** Undefined: no backup is wanted. */
  settings: BackupSettings | undefined
  dataDir: string
  clock: Clock
  log: Log
  site: { readonly settings: { readonly timeZone: string } }
  clockConfirmation: { readonly state: string }
  /** In words, while the data was used on another machine and nobody has said what this is; else null. */
  machine: { readonly detail: string | null }
}

/** How long there may be no good backup before it is an alert. */
const OVERDUE_MS = 36 * HOUR_MS
/** A machine that is off at night makes its backup when it is on. */
const LATE_MS = 26 * HOUR_MS
const RETRY_MS = HOUR_MS
const LOOK_MS = 5 * MINUTE_MS
/** How exactly the next one is told, and how far ahead. */
const [NEXT_STEP_MS, NEXT_MOST_MS] = [15 * MINUTE_MS, 60 * HOUR_MS]
/**
 * Once a night: the hour has twelve looks, and comes twice when clocks are set back. One by day takes the place of
 * none.
 */
const SAME_NIGHT_MS = 3 * HOUR_MS
const MOST_KNOWN_SETS = 20
/** Outside of the database, which a restore replaces. */
const SIDE_FILE = 'backups.json'

const keptSchema = z.object({
  target: z.string(),
  sinceMs: z.number(),
  lastGoodMs: z.number().nullable(),
  fault: z.string().nullable().default(null),
  triedAtMs: z.number().nullable().default(null),
  // one for each stick that is used alternately
  knownSets: z.array(z.string()).default([]),
  stay: z.array(z.object({ number: z.number(), atMs: z.number(), rows: z.number(), bytes: z.number() })).default([]),
})
type Kept = z.infer<typeof keptSchema>

/**
 * Backs up the database every night, in a thread of its own, and knows how long there was no good backup. A copied card
 * has the target of its first course: it would count and delete that one's backups as its own, so it makes none before
 * a person has said what it is.
 */
export class Backups implements Component {
  failures = 0
  readonly #deps: Deps
  readonly #path: string
  #kept: Kept | undefined
  #triedAtMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #running: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    this.#path = join(deps.dataDir, SIDE_FILE)
  }

  /** Null without a target. */
  get status(): BackupStatus | null {
    const { settings } = this.#deps
    if (this.#kept === undefined || settings === undefined) return null
    const { target, lastGoodMs, fault, triedAtMs, stay } = this.#kept
    return {
      target,
      keep: settings.keep,
      lastGoodMs,
      fault,
      triedAtMs,
      stay,
      isRunning: this.#running !== undefined,
      isHeld: this.#deps.machine.detail !== null,
      isOverdue: this.#overdue === 'holds',
    }
  }

  /**
   * When the next one is made by itself, to a quarter of an hour; null while one runs or all are held, and without a
   * target.
   */
  get nextMs(): number | null {
    const nowMs = this.#deps.clock.nowMs()
    const hourOf = this.#hours()
    const first = nowMs - (nowMs % NEXT_STEP_MS) + NEXT_STEP_MS
    for (let atMs = nowMs; atMs <= nowMs + NEXT_MOST_MS; atMs = atMs === nowMs ? first : atMs + NEXT_STEP_MS)
      if (this.#isDue(atMs, hourOf)) return atMs
    return null
  }

  /** Whether there was no good backup for too long, as an alert judges it. */
  get overdue(): 'holds' | 'over' | 'unsure' {
    return this.#overdue
  }

  async start(): Promise<void> {
    const { settings, clock } = this.#deps
    if (settings === undefined) return
    const known = this.#read()
    const isSame = known?.target === settings.target
    this.#kept = isSame
      ? known
      : {
          target: settings.target,
          sinceMs: clock.nowMs(),
          lastGoodMs: null,
          fault: null,
          triedAtMs: null,
          knownSets: [],
          stay: [],
        }
    if (!isSame) this.#write()
    this.#timer = setInterval(() => this.look(), LOOK_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    // what it has written is whole, and what is not is removed by the next one
    await this.#worker?.terminate()
    await this.#running
  }

  /** Makes a backup if it is time to; called every few minutes. */
  look(): void {
    if (this.#isDue(this.#deps.clock.nowMs())) void this.runNow()
  }

  /**
   * Begins one because an admin wants it, which the audit log says. Rejects with a `ConflictError` when none can begin.
   */
  async begin(): Promise<void> {
    const { settings, store, machine } = this.#deps
    if (settings === undefined) throw new ConflictError('no_backup_target', 'the gateway has no CARTBARN_BACKUP_TO')
    if (machine.detail !== null) throw new ConflictError('other_machine', machine.detail)
    if (this.#running !== undefined) throw new ConflictError('backup_running', 'a backup is being made already')
    const noted = store.write('noteBackup', { target: settings.target })
    this.#running = noted
      .then(
        () => this.#run(),
        // told to who asked
        () => undefined,
      )
      .finally(() => {
        this.#running = undefined
      })
    await noted
  }

  /** Makes a backup, or waits for the one that is being made. Never rejects: `status` says what it came to. */
  async runNow(): Promise<void> {
    if (this.#deps.machine.detail !== null) return
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    await this.#running
  }

  #isDue(nowMs: number, hourOf = this.#hours()): boolean {
    const { settings, machine } = this.#deps
    if (settings === undefined || this.#kept === undefined || this.#running !== undefined) return false
    if (machine.detail !== null) return false
    const sinceTryMs = this.#triedAtMs === undefined ? Number.POSITIVE_INFINITY : Math.abs(nowMs - this.#triedAtMs)
    const lastMs = this.#kept.lastGoodMs ?? this.#kept.sinceMs
    const sinceLastMs = Math.abs(nowMs - lastMs)
    if (sinceLastMs >= LATE_MS) return sinceTryMs >= RETRY_MS
    const isNew = this.#kept.lastGoodMs === null
    if (hourOf(nowMs) !== settings.hour) return false
    return (isNew || sinceLastMs >= SAME_NIGHT_MS) && sinceTryMs >= RETRY_MS / 3
  }

  /** Tells hours on the clocks of the site. */
  #hours(): (atMs: number) => number {
    const { timeZone } = this.#deps.site.settings
    const format = new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' })
    return (atMs) => Number(format.format(atMs))
  }

  async #run(): Promise<void> {
    const { settings, clock, log, dataDir } = this.#deps
    if (settings === undefined || this.#kept === undefined) return
    const { hour: _, ...rest } = settings
    const atMs = clock.nowMs()
    this.#triedAtMs = atMs
    const answer = await this.#inThread({ ...rest, dataDir, atMs, knownSets: this.#kept.knownSets })
    if (answer.kind === 'made') {
      const { number, newBytes, totalBytes, rows, stay } = answer.made
      this.#kept = { ...this.#kept, lastGoodMs: atMs, fault: null, triedAtMs: atMs, stay: [...stay] }
      this.#write()
      log.info({ target: settings.target, number, newBytes, totalBytes, rows }, 'backed up the database')
    } else {
      this.failures++
      this.#kept = { ...this.#kept, fault: answer.reason, triedAtMs: atMs }
      this.#write()
      log.warn({ target: settings.target, reason: answer.reason }, 'could not back up the database; tries again')
    }
  }

  #inThread(request: BackupRequest): Promise<Exclude<BackupAnswer, { kind: 'opened' }>> {
    return new Promise((resolve) => {
      const worker = startThread('backup', { workerData: request })
      this.#worker = worker
      worker.on('message', (answer: BackupAnswer) => {
        if (answer.kind === 'opened') this.#rememberSet(answer.header)
        else resolve(answer)
      })
      worker.once('error', (error) => resolve({ kind: 'failed', reason: describeError(error) }))
      worker.once('exit', () => {
        this.#worker = undefined
        resolve({ kind: 'failed', reason: 'it was ended before it was done' })
      })
    })
  }

  #rememberSet(header: string): void {
    if (this.#kept === undefined || this.#kept.knownSets.includes(header)) return
    const knownSets = [...this.#kept.knownSets, header].slice(-MOST_KNOWN_SETS)
    this.#kept = { ...this.#kept, knownSets }
    this.#write()
  }

  get #overdue(): 'holds' | 'over' | 'unsure' {
    const { clock, clockConfirmation } = this.#deps
    if (this.#kept === undefined) return 'over'
    const sinceMs = clock.nowMs() - Math.max(this.#kept.lastGoodMs ?? 0, this.#kept.sinceMs)
    if (sinceMs < 0 || clockConfirmation.state !== 'confirmed') return 'unsure'
    return sinceMs >= OVERDUE_MS ? 'holds' : 'over'
  }

  #read(): Kept | undefined {
    try {
      return keptSchema.parse(JSON.parse(readFileSync(this.#path, 'utf8')))
    } catch {
      // none yet, or of no use: a backup is due then
      return undefined
    }
  }

  #write(): void {
    try {
      replaceFile(this.#path, `${JSON.stringify(this.#kept)}\n`)
    } catch (error) {
      this.#deps.log.warn({ path: this.#path, reason: describeError(error) }, 'could not note the last backup')
    }
  }
}
