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

export interface BackupSettings {
  /** Folder, whose last component is created if missing, or `s3://bucket/prefix`. */
  readonly target: string
  readonly mustBeMounted: boolean
  readonly s3: S3Settings | undefined
  readonly passphrase: string
  readonly keep: number
  /** Hour in the time zone of the site. */
  readonly hour: number
}

/** Input of the backup thread. */
export interface BackupRequest extends Omit<BackupSettings, 'hour'> {
  readonly dataDir: string
  readonly atMs: number
  /** Heads of sets found or made at the target before, as JSON. */
  readonly knownSets: readonly string[]
}

/** Messages of the backup thread: `opened` once it knows the set to write to, and one of the others at its end. */
export type BackupAnswer =
  | { kind: 'opened'; header: string }
  | { kind: 'made'; made: BackupMade }
  | { kind: 'failed'; reason: string }

export interface BackupStatus {
  readonly target: string
  readonly keep: number
  readonly isRunning: boolean
  /** True if backups are on hold: the data was used on another host, which may own the backups at the target. */
  readonly isHeld: boolean
  /** Time at which this target was set. */
  readonly sinceMs: number
  readonly lastGoodMs: number | null
  readonly isOverdue: boolean
  /** Reason of the last failure; null after a success. */
  readonly fault: string | null
  readonly triedAtMs: number | null
  /** Backups kept after the last successful one, oldest first. */
  readonly stay: readonly KeptBackup[]
}

interface Deps {
  store: Pick<Store, 'write'>
  /** Undefined if no backup is configured. */
  settings: BackupSettings | undefined
  dataDir: string
  clock: Clock
  log: Log
  site: { readonly settings: { readonly timeZone: string } }
  clockConfirmation: { readonly state: string }
  /** Readable reason while the data comes from another host and staff have not confirmed this one; otherwise null. */
  machine: { readonly detail: string | null }
}

/** Time without a successful backup after which an alert opens. */
const OVERDUE_MS = 36 * HOUR_MS
/** Longest delay of a nightly backup: a host that is off at night makes it once it is on. */
const LATE_MS = 26 * HOUR_MS
const RETRY_MS = HOUR_MS
const CHECK_MS = 5 * MINUTE_MS
/** Precision of the announced time of the next backup, and the longest time ahead. */
const [NEXT_STEP_MS, NEXT_MOST_MS] = [15 * MINUTE_MS, 60 * HOUR_MS]
/** Limits a night to one backup: its hour has twelve checks, and may come twice. A backup by day does not count. */
const SAME_NIGHT_MS = 3 * HOUR_MS
const MOST_KNOWN_SETS = 20
/** Outside the database, which a restore replaces. */
const SIDE_FILE = 'backups.json'

const keptSchema = z.object({
  target: z.string(),
  sinceMs: z.number(),
  lastGoodMs: z.number().nullable(),
  fault: z.string().nullable().default(null),
  triedAtMs: z.number().nullable().default(null),
  // one for each of several alternating sticks
  knownSets: z.array(z.string()).default([]),
  stay: z.array(z.object({ number: z.number(), atMs: z.number(), rows: z.number(), bytes: z.number() })).default([]),
})
type Kept = z.infer<typeof keptSchema>

/**
 * Backs up the database every night in its own thread, and monitors the time since the last success. A copied card has
 * the target of its first site, whose backups it would count and delete: it makes none until staff confirm the host.
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
    const { target, sinceMs, lastGoodMs, fault, triedAtMs, stay } = this.#kept
    return {
      target,
      keep: settings.keep,
      sinceMs,
      lastGoodMs,
      fault,
      triedAtMs,
      stay,
      isRunning: this.#running !== undefined,
      isHeld: this.#deps.machine.detail !== null,
      isOverdue: this.#overdue === 'holds',
    }
  }

  /** Time of the next automatic backup, to 15 minutes; null while one runs, on hold and without a target. */
  get nextMs(): number | null {
    const nowMs = this.#deps.clock.nowMs()
    const hourOf = this.#hours()
    const first = nowMs - (nowMs % NEXT_STEP_MS) + NEXT_STEP_MS
    for (let atMs = nowMs; atMs <= nowMs + NEXT_MOST_MS; atMs = atMs === nowMs ? first : atMs + NEXT_STEP_MS)
      if (this.#isDue(atMs, hourOf)) return atMs
    return null
  }

  /** State of the alert about a missing backup. */
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
    this.#timer = setInterval(() => this.check(), CHECK_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    // completed files are intact, and the next backup removes the others
    await this.#worker?.terminate()
    await this.#running
  }

  /** Starts a backup if it is due; called every few minutes. */
  check(): void {
    if (this.#isDue(this.#deps.clock.nowMs())) void this.runNow()
  }

  /** Starts an admin's backup and records that in the audit log. Rejects with a `ConflictError` if none can start. */
  async begin(): Promise<void> {
    const { settings, store, machine } = this.#deps
    if (settings === undefined)
      throw new ConflictError('no_backup_target', 'no backup target is configured; set CARTBARN_BACKUP_TO')
    if (machine.detail !== null) throw new ConflictError('other_machine', machine.detail)
    if (this.#running !== undefined) throw new ConflictError('backup_running', 'a backup is already running')
    const noted = store.write('noteBackup', { target: settings.target })
    this.#running = noted
      .then(
        () => this.#run(),
        // reported to the caller
        () => undefined,
      )
      .finally(() => {
        this.#running = undefined
      })
    await noted
  }

  /** Makes a backup, or waits for the one in progress. Never rejects: see `status` for the result. */
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

  /** Returns a function from time to hour in the time zone of the site. */
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
      log.warn({ target: settings.target, reason: answer.reason }, 'nightly backup failed; will retry')
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
        resolve({ kind: 'failed', reason: 'the backup thread ended early' })
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
      // missing or unusable: a backup is due then
      return undefined
    }
  }

  #write(): void {
    try {
      replaceFile(this.#path, `${JSON.stringify(this.#kept)}\n`)
    } catch (error) {
      this.#deps.log.warn({ path: this.#path, reason: describeError(error) }, 'storing the state of the backups failed')
    }
  }
}
