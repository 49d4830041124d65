import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { z } from 'zod'
import { ConflictError, describeError, InvalidRequestError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { startThread } from '#shared/thread.ts'
import { type Clock, DAY_MS, MINUTE_MS } from '#shared/time.ts'
import type { BackupSource, FoundBackup, newRestoreSchema } from '#shared/wire/backups.ts'
import { type S3Settings, s3AddressOf, s3EndpointFault } from '#store/backups/s3/s3-address.ts'
import { backupsOnSticks } from '#store/backups/sticks.ts'
import { UploadedBackup } from '#store/backups/uploaded-backup.ts'
import { FETCHED_WORK, RESTORE_WORK } from '#store/replace/replace-database.ts'
import type { Store } from '#store/store.ts'
import type { Fleet } from './fleet.ts'
import type { Restores } from './restores.ts'
import type { Users } from './users.ts'

/** Input of the backup thread when it lists the backups of a target. */
export interface ListRequest {
  readonly target: string
  readonly s3: S3Settings | undefined
  readonly passphrase: string | undefined
}

export type ListAnswer = { kind: 'listed'; backups: FoundBackup[] } | { kind: 'failed'; reason: string }

interface Deps {
  config: {
    dataDir: string
    retentionDays: number
    upstream: { isInsecureAllowed: boolean } | undefined
  }
  store: Pick<Store, 'write'>
  restores: Pick<Restores, 'begin' | 'requireIdle' | 'settle'>
  log: Log
  fleet: Pick<Fleet, 'size'>
  users: Pick<Users, 'all'>
  clock: Clock
  /** Undefined for the folders of the system. */
  stickRoots: readonly string[] | undefined
}

/** Time for a listing: a bucket that does not respond must not occupy the only turn. */
const LIST_MS = 2 * MINUTE_MS

/** Backups that a new gateway may be restored from: on sticks, in a bucket, or uploaded to its data folder. */
export class SetUpBackups implements Component {
  readonly #deps: Deps
  readonly #upload: UploadedBackup
  #isListing = false
  #worker: Worker | undefined
  #expiry: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    this.#upload = new UploadedBackup(deps.config.dataDir)
  }

  /** Ends a restore, and deletes what earlier runs left; what a failed restore needs again stays. */
  async start(): Promise<void> {
    const { config, restores, store, log } = this.#deps
    const { request, outcome } = restores.settle() ?? {}
    rmSync(join(config.dataDir, RESTORE_WORK), { recursive: true, force: true })
    if (outcome?.kind === 'failed') log.error({ from: request?.restores, reason: outcome.reason }, 'restore failed')
    else {
      this.#upload.delete()
      rmSync(join(config.dataDir, FETCHED_WORK), { recursive: true, force: true })
    }
    if (request === undefined || outcome === undefined) return
    const after = outcome.kind === 'failed' ? { reason: outcome.reason } : { at: outcome.result.at }
    const action = outcome.kind === 'failed' ? 'backup.not_restored' : 'backup.restored'
    // a full disk must not keep the gateway from serving
    await store.write('recordAuditOnly', { action, target: request.restores, after }).catch(() => undefined)
  }

  async stop(): Promise<void> {
    clearTimeout(this.#expiry)
    await this.#worker?.terminate()
  }

  /** Throws `not_new` if the gateway has devices, or a user's key was first used more than a day ago. */
  requireNew(): void {
    const { fleet, users, clock } = this.#deps
    const sinceMs = clock.nowMs() - DAY_MS
    const isOver = users.all().some(({ usage }) => usage.firstUsedAtMs !== null && usage.firstUsedAtMs < sinceMs)
    if (fleet.size > 0 || isOver)
      throw new ConflictError('not_new', 'this gateway is no longer new: stop it and use cartbarn restore')
  }

  sticks(): string[] {
    return backupsOnSticks(this.#deps.config.dataDir, this.#deps.stickRoots)
  }

  get uploadBytes(): number {
    return this.#upload.bytes
  }

  /** Appends a piece to the upload, and returns the bytes so far. Throws `wrong_offset` or `no_space`. */
  async append(offset: number, piece: Uint8Array): Promise<number> {
    const bytes = await this.#upload.append(offset, piece)
    clearTimeout(this.#expiry)
    this.#expiry = setTimeout(() => this.#upload.delete(), DAY_MS).unref()
    return bytes
  }

  /** Lists the backups of a source. Throws `backup_unreadable` with the reason. */
  async list(source: BackupSource, passphrase: string | undefined): Promise<FoundBackup[]> {
    // each guess of a passphrase costs much time and memory
    if (this.#isListing) throw new ConflictError('listing_backups', 'backups are being listed; try again soon')
    const request = { ...this.#targetOf(source), passphrase }
    this.#isListing = true
    try {
      const answer = await this.#inThread(request)
      if (answer.kind === 'listed') return answer.backups
      throw new ConflictError('backup_unreadable', answer.reason.replaceAll(this.#upload.path, 'the upload'))
    } finally {
      this.#isListing = false
    }
  }

  /** Requests a restore, for which the gateway restarts; returns its id. Throws `backup_unreadable`, `restoring`. */
  async restore({ from, number, passphrase }: z.infer<typeof newRestoreSchema>): Promise<string> {
    const { config, restores, clock } = this.#deps
    const { dataDir, retentionDays, upstream } = config
    restores.requireIdle()
    const request = { restores: from.kind, dataDir, atMs: clock.nowMs() }
    if (from.kind === 'head_office') {
      const { url, key } = from
      const siteId = key.split('_')[1] ?? ''
      const isInsecureAllowed = upstream?.isInsecureAllowed === true
      return restores.begin({ ...request, from: { upstream: { url, key, siteId, isInsecureAllowed }, retentionDays } })
    }
    // the gateway must not restart for a wrong passphrase
    const found = await this.list(from, passphrase)
    const chosen = number === undefined ? found[0] : found.find((one) => one.number === number)
    if (chosen === undefined) throw new ConflictError('backup_unreadable', 'there is no such backup')
    if (chosen.is_newer)
      throw new ConflictError('backup_unreadable', `${chosen.program} made the backup: install that version first`)
    return restores.begin({ ...request, from: { ...this.#targetOf(from), passphrase, number: chosen.number } })
  }

  #targetOf(source: BackupSource): Pick<ListRequest, 'target' | 's3'> {
    if (source.kind === 'upload') return { target: this.#upload.path, s3: undefined }
    if (source.kind === 'stick') {
      if (!this.sticks().includes(source.path))
        throw new InvalidRequestError('invalid_field', 'path must be one of GET /setup/places')
      return { target: source.path, s3: undefined }
    }
    const { endpoint, region, bucket, prefix, key_id: keyId, secret } = source
    const target = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`
    const fault = s3EndpointFault(endpoint)
    if (fault !== null) throw new InvalidRequestError('invalid_field', `endpoint ${fault}`)
    if (s3AddressOf(target) === null)
      throw new InvalidRequestError('invalid_field', 'no such bucket or prefix can exist')
    return { target, s3: { endpoint, region, keyId, secret } }
  }

  #inThread(request: ListRequest): Promise<ListAnswer> {
    return new Promise((resolve) => {
      const worker = startThread('backup', { workerData: request })
      this.#worker = worker
      const fail = (reason: string) => resolve({ kind: 'failed', reason })
      const limit = setTimeout(() => {
        fail(`no response within ${LIST_MS / 1000} s`)
        void worker.terminate()
      }, LIST_MS)
      worker.once('message', resolve)
      worker.once('error', (error) => fail(describeError(error)))
      worker.once('exit', () => {
        clearTimeout(limit)
        fail('the thread ended early')
      })
    })
  }
}
