import { randomBytes } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import { ConflictError, describeError, NotFoundError } from '#shared/errors.ts'
import { startThread } from '#shared/thread.ts'
import { HOUR_MS, MINUTE_MS } from '#shared/time.ts'
import type { RestoreResult, RestoreSource, RestoreState } from '#shared/wire/backups.ts'
import type { S3Settings } from '#store/backups/s3/s3-address.ts'

/** Input of the backup thread when it restores a backup, or rebuilds the database from the hub. */
export interface RestoreRequest {
  readonly restores: RestoreSource['kind']
  readonly dataDir: string
  readonly atMs: number
  readonly from:
    | {
        readonly target: string
        readonly s3: S3Settings | undefined
        readonly passphrase: string | undefined
        /** Undefined for the newest. */
        readonly number: number | undefined
      }
    | {
        readonly upstream: { url: string; key: string; siteId: string; isInsecureAllowed: boolean }
        readonly retentionDays: number
      }
}

export type RestoreAnswer =
  | { kind: 'progress'; done: number; of: number | null }
  | { kind: 'restored'; result: RestoreResult }
  | { kind: 'failed'; reason: string }

type Outcome = Exclude<RestoreAnswer, { kind: 'progress' }>

interface Run {
  readonly id: string
  readonly request: RestoreRequest
  done: number
  of: number | null
  /** Time of the last progress, by `performance.now()`. */
  movedMs: number
  outcome: Outcome | undefined
  /** True once a gateway runs again. */
  isOver: boolean
}

/** Time for which the result can be read. */
const KEPT_MS = HOUR_MS
/** Time without progress after which a restore counts as hung. */
const STALLED_MS = 5 * MINUTE_MS

/**
 * Restores of a backup, one at a time, while the gateway restarts in the same process: `begin` requests one, the
 * gateway stops, `perform` replaces the database before the next store starts, and `settle` ends it.
 */
export class Restores {
  /** Called when a restore was requested. */
  onRequest: () => void = () => undefined
  #run: Run | undefined
  #worker: Worker | undefined
  #expiry: NodeJS.Timeout | undefined
  #hasAuthority = false
  #isStopped = false

  /** Requests a restore; returns its id, which is the only credential to read its progress. Throws `restoring`. */
  begin(request: RestoreRequest): string {
    this.requireIdle()
    clearTimeout(this.#expiry)
    const id = randomBytes(24).toString('base64url')
    this.#run = { id, request, done: 0, of: null, movedMs: performance.now(), outcome: undefined, isOver: false }
    // the response is sent first
    setImmediate(() => this.onRequest())
    return id
  }

  /** Throws `restoring`. */
  requireIdle(): void {
    if (this.isActive) throw new ConflictError('restoring', 'a backup is being restored')
  }

  /** True from the request until a gateway runs again. */
  get isActive(): boolean {
    return this.#run?.isOver === false
  }

  /** Time of the last sign of progress, by `performance.now()`; 0 if none is expected or the restore hangs. */
  get answeredAtMs(): number {
    const nowMs = performance.now()
    return this.#run !== undefined && this.isActive && nowMs - this.#run.movedMs < STALLED_MS ? nowMs : 0
  }

  /** Performs the requested restore, if any, on the stopped data folder. Throws only if the program stops meanwhile. */
  async perform(): Promise<void> {
    const run = this.#run
    if (run === undefined || run.outcome !== undefined) return
    run.outcome = await this.#inThread(run)
    this.#hasAuthority = run.outcome.kind === 'restored' && run.outcome.result.authority === 'restored'
    if (this.#isStopped) throw new Error('the restore was stopped')
  }

  /** Ends a restore once a gateway runs again; returns it, if there is one to end. */
  settle(): Pick<Run, 'request' | 'outcome'> | undefined {
    const run = this.#run
    // it starts once more with the authority
    if (run?.outcome === undefined || run.isOver || this.#hasAuthority) return undefined
    run.isOver = true
    this.#expiry = setTimeout(() => {
      this.#run = undefined
    }, KEPT_MS).unref()
    return run
  }

  /** True once if the restore has brought an authority: the gateway must start again. */
  takeAuthority(): boolean {
    const hasNew = this.#hasAuthority
    this.#hasAuthority = false
    return hasNew
  }

  /** Throws `restore_not_found`. */
  state(id: string): RestoreState {
    const run = this.#run
    if (run?.id !== id)
      throw new NotFoundError('restore_not_found', 'there is no such restore, or it ended an hour ago')
    const { done, of, outcome, isOver } = run
    if (!isOver || outcome === undefined) return { state: 'restoring', done, of }
    if (outcome.kind === 'failed') return { state: 'failed', done, of, reason: outcome.reason }
    return { state: 'done', done, of, result: outcome.result }
  }

  /** Ends the program's restore: the folder keeps the old or the new database. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#expiry)
    await this.#worker?.terminate()
  }

  #inThread(run: Run): Promise<Outcome> {
    return new Promise((resolve) => {
      const worker = startThread('backup', { workerData: run.request })
      this.#worker = worker
      worker.on('message', (answer: RestoreAnswer) => {
        run.movedMs = performance.now()
        if (answer.kind !== 'progress') return resolve(answer)
        run.done = answer.done
        run.of = answer.of
      })
      worker.once('error', (error) => resolve({ kind: 'failed', reason: describeError(error) }))
      // after its message, so that its locks and connections are closed
      worker.once('exit', () => resolve({ kind: 'failed', reason: 'the thread ended early' }))
    })
  }
}
