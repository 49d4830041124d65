import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { describeError } from '#shared/errors.ts'
import type { Part } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { startThread } from '#shared/thread.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { S3Settings } from '#store/backups/s3/s3-address.ts'
import { replaceFile } from '#store/backups/synced-files.ts'
import type { BackupMade } from '#store/backups/write-backup.ts'

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
}

export type BackupAnswer = { kind: 'made'; made: BackupMade } | { kind: 'failed'; reason: string }

interface Deps {
  /** Undefined: no backup is wanted. */
  settings: BackupSettings | undefined
  dataDir: string
  clock: Clock
  log: Log
  site: { readonly settings: { readonly timeZone: string } }
  confirmation: { readonly state: string }
}

/** How long there may be no good backup before it is an alert. */
const OVERDUE_MS = 36 * HOUR_MS
/** A machine that is off at night makes its backup when it is on. */
const LATE_MS = 26 * HOUR_MS
const RETRY_MS = HOUR_MS
const LOOK_MS = 5 * MINUTE_MS
/** Once a night: the hour has twelve looks. */
const SAME_NIGHT_MS = 12 * HOUR_MS
/** Outside of the database, which a restore replaces. */
const SIDE_FILE = 'backups.json'

const keptSchema = z.object({ target: z.string(), sinceMs: z.number(), lastGoodMs: z.number().nullable() })
type Kept = z.infer<typeof keptSchema>

/** Backs up the database every night, in a thread of its own, and knows how long there was no good backup. */
export class Backups implements Part {
  failures = 0
  readonly #deps: Deps
  readonly #path: string
  #kept: Kept | undefined
  #fault: string | null = null
  #triedAtMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #running: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    this.#path = join(deps.dataDir, SIDE_FILE)
  }

  /** Null without a target. `fault` is why the last attempt failed. */
  get status(): { lastGoodMs: number | null; isOverdue: boolean; fault: string | null } | null {
    if (this.#kept === undefined) return null
    return { lastGoodMs: this.#kept.lastGoodMs, isOverdue: this.#overdue === 'holds', fault: this.#fault }
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
    this.#kept = isSame ? known : { target: settings.target, sinceMs: clock.nowMs(), lastGoodMs: null }
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
    if (this.#isDue()) void this.runNow()
  }

  /** Makes a backup, or waits for the one that is being made. Never rejects: `status` says what it came to. */
  async runNow(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    await this.#running
  }

  #isDue(): boolean {
    const { settings, clock, site } = this.#deps
    if (settings === undefined || this.#kept === undefined || this.#running !== undefined) return false
    const nowMs = clock.nowMs()
    const sinceTryMs =
      this.#triedAtMs === undefined ? Number.POSITIVE_INFINITY : Math.abs(nowMs - this.#triedAtMs)
    const lastMs = this.#kept.lastGoodMs ?? this.#kept.sinceMs
    const sinceLastMs = Math.abs(nowMs - lastMs)
    if (sinceLastMs >= LATE_MS) return sinceTryMs >= RETRY_MS
    const isNew = this.#kept.lastGoodMs === null
    if (hourAt(nowMs, site.settings.timeZone) !== settings.hour) return false
    return (isNew || sinceLastMs >= SAME_NIGHT_MS) && sinceTryMs >= RETRY_MS / 3
  }

  async #run(): Promise<void> {
    const { settings, clock, log, dataDir } = this.#deps
    if (settings === undefined || this.#kept === undefined) return
    const { hour: _, ...rest } = settings
    const atMs = clock.nowMs()
    this.#triedAtMs = atMs
    const answer = await this.#inThread({ ...rest, dataDir, atMs })
    if (answer.kind === 'made') {
      const { number, newBytes, totalBytes, rows } = answer.made
      this.#fault = null
      this.#kept = { ...this.#kept, lastGoodMs: atMs }
      this.#write()
      log.info({ target: settings.target, number, newBytes, totalBytes, rows }, 'backed up the database')
    } else {
      this.failures++
      this.#fault = answer.reason
      log.warn(
        { target: settings.target, reason: answer.reason },
        'could not back up the database; tries again',
      )
    }
  }

  #inThread(request: BackupRequest): Promise<BackupAnswer> {
    return new Promise((resolve) => {
      const worker = startThread('backup', { workerData: request })
      this.#worker = worker
      worker.once('message', (answer: BackupAnswer) => resolve(answer))
      worker.once('error', (error) => resolve({ kind: 'failed', reason: describeError(error) }))
      worker.once('exit', () => {
        this.#worker = undefined
        resolve({ kind: 'failed', reason: 'it was ended' })
      })
    })
  }

  get #overdue(): 'holds' | 'over' | 'unsure' {
    const { clock, confirmation } = this.#deps
    if (this.#kept === undefined) return 'over'
    const sinceMs = clock.nowMs() - Math.max(this.#kept.lastGoodMs ?? 0, this.#kept.sinceMs)
    if (sinceMs < 0 || confirmation.state !== 'confirmed') return 'unsure'
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
      this.#deps.log.warn(
        { path: this.#path, reason: describeError(error) },
        'could not note the last backup',
      )
    }
  }
}

function hourAt(atMs: number, timeZone: string): number {
  return Number(new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' }).format(atMs))
}
