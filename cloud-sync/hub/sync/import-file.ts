import type { z } from 'zod'
import { insertCursors, readCursors } from '#hub/store/cursors.ts'
import type { Database } from '#hub/store/database/database.ts'
import { deleteEarlierEntities } from '#hub/store/entities.ts'
import { entitiesEndOf, isEpochOfAnother, recordEpoch, recordFile, supersededAt } from '#hub/store/epochs.ts'
import { inSite } from '#hub/store/sites.ts'
import { addStoredBytes } from '#hub/store/stored-bytes.ts'
import { ConflictError, ForbiddenError, InvalidRequestError } from '#shared/errors.ts'
import { partHash } from '#shared/sync-hash.ts'
import type { Clock } from '#shared/time.ts'
import { SYNC_STREAMS } from '#shared/wire/replication/replicated.ts'
import type { Latest, SyncCursors, SyncPart } from '#shared/wire/replication/sync.ts'
import {
  type SyncFileEnd,
  type SyncFileHead,
  type SyncFileReceipt,
  syncFileLineSchema,
} from '#shared/wire/replication/sync-file.ts'
import { putOlderStates, statesOf } from './apply-latest.ts'
import { EVERYTHING } from './apply-telemetry.ts'
import { fileLines } from './file-lines.ts'
import { LIMITS } from './hello.ts'
import { type CheckedPart, checkPart } from './part-content.ts'
import { keptBytes } from './part-sizes.ts'
import { advanceAndApply } from './push.ts'
import type { SiteBudgets } from './site-budgets.ts'

interface ImportDeps {
  readonly database: Database
  readonly clock: Clock
  readonly budgets: SiteBudgets
  /** True if data erased by the file is archived for a time. */
  readonly keepsErased: boolean
}

/**
 * Imports a file that a gateway wrote (shared/wire/sync-file.ts) with the same compare-and-set as pushed parts: some
 * parts in each transaction; parts that the hub already has are skipped. If the file is found to be damaged, the parts
 * before the damage stay, and the file may be imported again. The receipt has the cursors of the hub; only a file whose
 * parts are all stored gets one. Throws `invalid_file`, `wrong_site`, `foreign_epoch`, `cursor`, `site_full`.
 */
export async function importFile(
  deps: ImportDeps,
  siteId: string,
  body: AsyncIterable<Uint8Array>,
): Promise<SyncFileReceipt> {
  let file: FileImport | undefined
  for await (const line of fileLines(body)) {
    const content = readLine(line)
    if ('head' in content) {
      if (file !== undefined) throw new InvalidRequestError('invalid_file', 'the file has a second head line')
      file = await FileImport.begin(deps, siteId, content.head)
      continue
    }
    if (file === undefined) throw new InvalidRequestError('invalid_file', 'the file does not begin with a head line')
    if ('part' in content) await file.add(content.part)
    else if ('devices' in content) file.keep(content.devices)
    else return await file.finish(content.end)
  }
  throw new InvalidRequestError(
    'invalid_file',
    'the file ends early: copy it again; the hub skips the parts that it already has',
  )
}

function readLine(line: string): z.infer<typeof syncFileLineSchema> {
  try {
    return syncFileLineSchema.parse(JSON.parse(line))
  } catch {
    throw new InvalidRequestError(
      'invalid_file',
      `this line does not belong in a file of sync:export: ${line.slice(0, 40)}`,
    )
  }
}

class FileImport {
  readonly #deps: ImportDeps
  readonly #siteId: string
  readonly #head: SyncFileHead
  readonly #entitiesEnd: number
  /** True if the site has a newer epoch since: the entities of this one are out of date. */
  readonly #isPast: boolean
  /** Cursors of the hub once the waiting parts are applied. */
  #cursors: SyncCursors
  /** Position in the file. */
  #at: SyncCursors
  #parts = 0
  #waiting: CheckedPart[] = []
  #waitingBytes = 0
  #states: ReturnType<typeof statesOf> | undefined
  #taken = 0
  #known = 0
  #rows = 0

  private constructor(
    deps: ImportDeps,
    siteId: string,
    begun: { head: SyncFileHead; entitiesEnd: number; isPast: boolean; cursors: SyncCursors },
  ) {
    const { head, entitiesEnd, isPast, cursors } = begun
    this.#deps = deps
    this.#siteId = siteId
    this.#head = head
    this.#entitiesEnd = entitiesEnd
    this.#isPast = isPast
    this.#cursors = cursors
    this.#at = { ...head.cursors }
  }

  static async begin(deps: ImportDeps, siteId: string, head: SyncFileHead): Promise<FileImport> {
    const { database, clock } = deps
    const { epoch } = head
    if (head.site !== siteId) throw new ForbiddenError('wrong_site', `this file belongs to the site ${head.site}`)
    if (await isEpochOfAnother(database, siteId, epoch))
      throw new ConflictError('foreign_epoch', 'the database of this file has already been replicated as another site')
    return await inSite(database, siteId, async (sql) => {
      const nowMs = clock.nowMs()
      const supersededMs = await supersededAt(sql, siteId, head)
      const isPast = supersededMs !== undefined
      await recordEpoch(sql, siteId, head, isPast ? supersededMs - 1 : nowMs)
      await insertCursors(sql, siteId, epoch, nowMs)
      const entitiesEnd = await entitiesEndOf(sql, siteId, epoch)
      // this epoch has no entities of its own to send
      if (entitiesEnd === 0 && !isPast) await deleteEarlierEntities(sql, siteId, epoch)
      const cursors = await readCursors(sql, siteId, epoch)
      return new FileImport(deps, siteId, { head, entitiesEnd, isPast, cursors })
    })
  }

  async add(part: SyncPart): Promise<void> {
    const { stream, from, to, hash } = part
    const before = this.#at[stream]
    if (part.is_resend === true || to <= from || from !== before.seq || part.prev_hash !== before.hash)
      throw damaged(`a part of ${stream} does not continue the part before it`)
    this.#parts++
    this.#at = { ...this.#at, [stream]: { seq: to, hash } }
    const at = this.#cursors[stream]
    if (to <= at.seq) {
      if (partHash(part, Buffer.from(part.data, 'base64')) !== hash)
        throw damaged(`the hash of a part of ${stream} does not match its data`)
      if (to === at.seq && hash !== at.hash) {
        const copy = 'two gateways may run on copies of one database, or it was restored from a backup'
        throw new ConflictError('cursor', `the hub has different ${stream} data up to ${to}: ${copy}`)
      }
      this.#known++
      return
    }
    if (from !== at.seq || part.prev_hash !== at.hash) {
      throw new ConflictError(
        'cursor',
        `the file continues ${stream} at ${from}, but the hub is at ${at.seq}: export a new file from the gateway`,
      )
    }
    this.#waiting.push(checkFilePart(part))
    this.#waitingBytes += part.data.length
    this.#cursors = { ...this.#cursors, [stream]: { seq: to, hash: part.hash } }
    if (this.#waiting.length >= LIMITS.parts || this.#waitingBytes >= LIMITS.body_bytes / 2) await this.#apply()
  }

  /** Stores the states of some devices when the file was written; the calls together cover all devices. */
  keep(devices: Latest['devices']): void {
    this.#states = new Map([...(this.#states ?? []), ...statesOf(devices)])
  }

  async finish(end: SyncFileEnd): Promise<SyncFileReceipt> {
    const isWhole = SYNC_STREAMS.every((stream) => {
      const { seq, hash } = end.cursors[stream]
      return seq === this.#at[stream].seq && hash === this.#at[stream].hash
    })
    if (!isWhole || end.parts !== this.#parts) throw damaged('the file lacks parts')
    await this.#apply()
    const site = this.#siteId
    const { epoch } = this.#head
    const { database, clock, keepsErased } = this.#deps
    const cursors = await inSite(database, site, async (sql) => {
      const nowMs = clock.nowMs()
      // the file was written before now, even if the clock of the gateway disagrees
      const atMs = Math.min(this.#head.exported_at_ms, nowMs)
      if (this.#states !== undefined) await putOlderStates(sql, site, { atMs, nowMs, keepsErased }, this.#states)
      await recordFile(sql, site, { ...this.#head, exported_at_ms: atMs })
      return readCursors(sql, site, epoch)
    })
    return { site, epoch, taken: this.#taken, known: this.#known, rows: this.#rows, cursors }
  }

  async #apply(): Promise<void> {
    const parts = this.#waiting
    if (parts.length === 0) return
    this.#waiting = []
    this.#waitingBytes = 0
    const { database, clock, budgets, keepsErased } = this.#deps
    const target = { siteId: this.#siteId, epoch: this.#head.epoch, isPast: this.#isPast, keepsErased }
    await inSite(database, this.#siteId, async (sql, { storedBytes }) => {
      budgets.requireRoom(
        storedBytes,
        parts.map(({ part }) => part.stream),
      )
      await addStoredBytes(sql, this.#siteId, keptBytes(parts))
      const cursors = await readCursors(sql, target.siteId, target.epoch)
      const known = { ...EVERYTHING, entitiesEnd: this.#entitiesEnd, cursors }
      await advanceAndApply(sql, { ...target, nowMs: clock.nowMs() }, parts, known)
    })
    this.#taken += parts.length
    for (const { part } of parts) this.#rows += part.count
  }
}

function damaged(detail: string): InvalidRequestError {
  return new InvalidRequestError('invalid_file', `${detail}: copy the file again`)
}

function checkFilePart(part: SyncPart): CheckedPart {
  try {
    return checkPart(part)
  } catch (error) {
    if (error instanceof InvalidRequestError) throw damaged(error.message)
    throw error
  }
}
