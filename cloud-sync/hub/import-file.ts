import type { z } from 'zod'
import { ConflictError, ForbiddenError, InvalidRequestError } from '../../shared/errors.ts'
import type { Clock } from '../../shared/time.ts'
import type { Latest, SyncCursors, SyncPart } from '../../shared/wire/sync.ts'
import {
  type SyncFileEnd,
  type SyncFileHead,
  type SyncFileReceipt,
  syncFileLineSchema,
} from '../../shared/wire/sync-file.ts'
import { fileLines } from './file-lines.ts'
import { type CheckedPart, checkPart } from './part-content.ts'
import { moveAndApply } from './push.ts'
import { insertCursors, readCursors } from './store/cursors.ts'
import type { Database } from './store/database.ts'
import { deleteEarlierEntities } from './store/entities.ts'
import { entitiesEndOf, isEpochOfAnother, recordEpoch, recordFile } from './store/epochs.ts'
import { inSite } from './store/sites.ts'
import { LIMITS } from './sync-limits.ts'
import { putStates, statesOf } from './take-latest.ts'

interface ImportDeps {
  readonly database: Database
  readonly clock: Clock
}

/**
 * Takes a file that a gateway wrote (shared/wire/sync-file.ts), through the same compare-and-set as if it had sent the
 * parts itself: some parts a transaction, and what is there already is passed over. A file that turns out to be damaged
 * has been taken up to there, and may come again. Throws `invalid_file`, `wrong_site`, `foreign_epoch`, `cursor`.
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
      if (file !== undefined) throw new InvalidRequestError('invalid_file', 'the file begins twice')
      file = await FileImport.begin(deps, siteId, content.head)
      continue
    }
    if (file === undefined) throw new InvalidRequestError('invalid_file', 'the file has no beginning')
    if ('part' in content) await file.add(content.part)
    else if ('devices' in content) file.keep(content.devices)
    else return await file.finish(content.end)
  }
  throw new InvalidRequestError(
    'invalid_file',
    'the file ends early: what came before is taken, copy it again',
  )
}

function readLine(line: string): z.infer<typeof syncFileLineSchema> {
  try {
    return syncFileLineSchema.parse(JSON.parse(line))
  } catch {
    throw new InvalidRequestError(
      'invalid_file',
      `this is no line of a file for a head office: ${line.slice(0, 40)}`,
    )
  }
}

class FileImport {
  readonly #deps: ImportDeps
  readonly #siteId: string
  readonly #head: SyncFileHead
  readonly #entitiesEnd: number
  #cursors: SyncCursors
  #waiting: CheckedPart[] = []
  #waitingBytes = 0
  #states: ReturnType<typeof statesOf> | undefined
  #taken = 0
  #known = 0
  #rows = 0

  private constructor(
    deps: ImportDeps,
    siteId: string,
    { head, entitiesEnd, cursors }: { head: SyncFileHead; entitiesEnd: number; cursors: SyncCursors },
  ) {
    this.#deps = deps
    this.#siteId = siteId
    this.#head = head
    this.#entitiesEnd = entitiesEnd
    this.#cursors = cursors
  }

  static async begin(deps: ImportDeps, siteId: string, head: SyncFileHead): Promise<FileImport> {
    const { database, clock } = deps
    const { epoch } = head
    if (head.site !== siteId) throw new ForbiddenError('wrong_site', `this file is of the site ${head.site}`)
    if (await isEpochOfAnother(database, siteId, epoch))
      throw new ConflictError('foreign_epoch', 'this database was replicated as another site')
    return await inSite(database, siteId, async (sql) => {
      const nowMs = clock.nowMs()
      await recordEpoch(sql, siteId, head, nowMs)
      await insertCursors(sql, siteId, epoch, nowMs)
      const entitiesEnd = await entitiesEndOf(sql, siteId, epoch)
      // nothing was there to be sent again
      if (entitiesEnd === 0) await deleteEarlierEntities(sql, siteId, epoch)
      const cursors = await readCursors(sql, siteId, epoch)
      return new FileImport(deps, siteId, { head, entitiesEnd, cursors })
    })
  }

  async add(part: SyncPart): Promise<void> {
    const { stream, from, to } = part
    const at = this.#cursors[stream]
    if (to <= at.seq) {
      this.#known++
      return
    }
    if (from !== at.seq || part.prev_hash !== at.hash) {
      throw new ConflictError(
        'cursor',
        `${stream} goes on at ${from} in the file, but the hub is at ${at.seq}: have the gateway write a new file`,
      )
    }
    this.#waiting.push(checkPart(part))
    this.#waitingBytes += part.data.length
    this.#cursors = { ...this.#cursors, [stream]: { seq: to, hash: part.hash } }
    if (this.#waiting.length >= LIMITS.parts || this.#waitingBytes >= LIMITS.body_bytes / 2)
      await this.#apply()
  }

  /** The states of all devices when the file was written. */
  keep(devices: Latest['devices']): void {
    this.#states = statesOf(devices)
  }

  async finish({ cursors }: SyncFileEnd): Promise<SyncFileReceipt> {
    await this.#apply()
    const site = this.#siteId
    const { epoch, exported_at_ms: atMs } = this.#head
    await inSite(this.#deps.database, site, async (sql) => {
      if (this.#states !== undefined) await putStates(sql, site, atMs, this.#states, true)
      await recordFile(sql, site, this.#head)
    })
    return { site, epoch, taken: this.#taken, known: this.#known, rows: this.#rows, cursors }
  }

  async #apply(): Promise<void> {
    const parts = this.#waiting
    if (parts.length === 0) return
    this.#waiting = []
    this.#waitingBytes = 0
    const { database, clock } = this.#deps
    const target = { siteId: this.#siteId, epoch: this.#head.epoch }
    await inSite(database, this.#siteId, (sql) =>
      moveAndApply(sql, { ...target, nowMs: clock.nowMs() }, parts, this.#entitiesEnd),
    )
    this.#taken += parts.length
    for (const { part } of parts) this.#rows += part.count
  }
}
