import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { RestoreRequest } from '#services/restores.ts'
import { toIso } from '#shared/time.ts'
import type { RestoreResult } from '#shared/wire/backups.ts'
import { databasePath } from '#store/db/files.ts'
import { FETCHED_WORK, keptFolder, RESTORE_WORK, replaceDatabase } from '#store/replace/replace-database.ts'
import { backupPlaceOf } from './backup-places.ts'
import { CREDENTIALS, rebuildFromUpstream } from './rebuild.ts'
import { restoreBackup } from './restore.ts'
import { StoppedFolder } from './stopped-folder.ts'

const RETRY_FOR_S = 60

type Progress = (done: number, of: number | null) => void

/** Replaces the database of a stopped gateway as requested. Throws an `Error` with a readable message. */
export function performRestore(request: RestoreRequest, onProgress: Progress): Promise<RestoreResult> {
  return 'upstream' in request.from
    ? fromHeadOffice(request, request.from, onProgress)
    : fromBackup(request, request.from, onProgress)
}

type From<Kind extends 'target' | 'upstream'> = Extract<RestoreRequest['from'], { [Name in Kind]: unknown }>

async function fromBackup(
  { dataDir, atMs }: RestoreRequest,
  { target, s3, passphrase, number }: From<'target'>,
  onPart: Progress,
): Promise<RestoreResult> {
  const from = backupPlaceOf(target, 'read', { readS3: () => s3 })
  const { manifest, keptIn, leftOut, authority } = await restoreBackup({
    dataDir,
    from,
    passphrase,
    number,
    atMs,
    onPart,
  })
  return {
    at: toIso(manifest.atMs),
    rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
    lacks: manifest.lacks,
    left_out: [...leftOut],
    authority,
    kept_in: keptIn,
    credentials: null,
  }
}

async function fromHeadOffice(
  { dataDir, atMs }: RestoreRequest,
  { upstream, retentionDays }: From<'upstream'>,
  onProgress: Progress,
): Promise<RestoreResult> {
  const work = join(dataDir, FETCHED_WORK)
  let seenMs: number | null = null
  const { progress, credentials } = await rebuildFromUpstream({
    config: { dataDir: work, upstream, retentionDays },
    secretsFrom: undefined,
    retryForS: RETRY_FOR_S,
    nowMs: atMs,
    signal: new AbortController().signal,
    onOffer: (offer) => {
      seenMs = offer.last_seen_ms
    },
    onProgress: ({ rows, records }) => onProgress(rows + records, null),
    onAway: () => undefined,
  })
  const folder = new StoppedFolder(dataDir, RESTORE_WORK)
  folder.take()
  try {
    if (credentials !== null) renameSync(credentials.path, join(dataDir, CREDENTIALS))
    const kept = keptFolder(dataDir, 'replaced', atMs)
    replaceDatabase(dataDir, databasePath(work), kept)
    rmSync(work, { recursive: true, force: true })
    return {
      at: toIso(seenMs ?? atMs),
      rows: progress.rows + progress.records,
      lacks: LACKS,
      left_out: [],
      authority: 'missing',
      kept_in: existsSync(kept) ? kept : null,
      credentials: credentials === null ? null : { ...credentials, path: join(dataDir, CREDENTIALS) },
    }
  } finally {
    folder.release()
  }
}

const LACKS = [
  'webhooks, notifiers, PINs, browsers that are signed in, and earlier sets of zones',
  'the connection to the head office, unless CARTBARN_UPSTREAM_URL, CARTBARN_UPSTREAM_KEY and CARTBARN_SITE_ID are set',
]
