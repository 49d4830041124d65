import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '#agent/backoff.ts'
import type { RequestResult } from '#agent/request-result.ts'
import { Upstream, type UpstreamOptions } from '#agent/upstream.ts'
import type { Config } from '#gateway/config.ts'
import { DAY_MS } from '#shared/time.ts'
import { REBUILT_REASON, type RebuildOffer } from '#shared/wire/replication/rebuild.ts'
import { describeFault, storeFaultCode } from '#store/db/fault.ts'
import { databasePath } from '#store/db/files.ts'
import { migrate } from '#store/migrate.ts'
import { type RebuildProgress, RebuiltDatabase } from '#store/rebuild/rebuilt-database.ts'
import {
  isKnownBefore,
  keepSecrets,
  type NewSecret,
  newSecrets,
  replaceTriggersAndViews,
  takeSecrets,
} from '#store/rebuild/secrets.ts'
import { prepareDataFolder } from '#store/store.ts'
import { openForSetup } from '#store/writer/open.ts'
import { StoppedFolder } from './stopped-folder.ts'

/** File with the new passwords and keys, kept until an admin has handed them out. */
export const CREDENTIALS = 'new-credentials.csv'
/** Folder for a copy of the database that secrets are taken from: the copy may need migrations. */
const WORK = 'rebuild-unfinished'

export interface RebuildOptions {
  config: Pick<Config, 'dataDir' | 'retentionDays'> & { upstream: (UpstreamOptions & { siteId: string }) | undefined }
  /** Path of an earlier database whose passwords and keys stay valid; undefined creates new ones. */
  secretsFrom: string | undefined
  /** Longest outage of the hub that a rebuild waits for, in s. */
  retryForS: number
  nowMs: number
  signal: AbortSignal
  onOffer: (offer: RebuildOffer, isResumed: boolean) => void
  onProgress: (progress: RebuildProgress) => void
  /** Called with the reason when the hub does not respond. */
  onAway: (detail: string) => void
}

export interface RebuiltGateway {
  progress: RebuildProgress
  path: string
  /** File with the new credentials and their numbers; null if none were created. */
  credentials: { path: string; devices: number; users: number } | null
}

/**
 * Rebuilds the database of a gateway from the data of its hub. The folder must have no database. After a kill or a lost
 * connection the next call resumes where it stopped. Throws an `Error` with a readable message.
 */
export async function rebuildFromUpstream(options: RebuildOptions): Promise<RebuiltGateway> {
  const { dataDir, upstream } = options.config
  if (upstream === undefined)
    throw new Error('no hub is configured: set CARTBARN_UPSTREAM_URL, CARTBARN_SITE_ID and CARTBARN_UPSTREAM_KEY')
  prepareDataFolder(dataDir)
  const folder = new StoppedFolder(dataDir, WORK)
  folder.take()
  const hub = new Upstream({ ...upstream, isInsecureAllowed: upstream.isInsecureAllowed })
  try {
    if (existsSync(databasePath(dataDir)))
      throw new Error(
        `${dataDir} already has a database: set CARTBARN_DATA_DIR to an empty folder, or move cartbarn.db* away ` +
          'if it is not needed',
      )
    return await rebuild(hub, upstream.siteId, folder, options)
  } catch (error) {
    const fault = storeFaultCode(error)
    if (fault === null) throw error
    throw new Error(
      `the database cannot be written in ${dataDir}: ${describeFault(error)}; free some space and repeat the ` +
        'command, which continues where it stopped',
      { cause: error },
    )
  } finally {
    hub.close()
    folder.release()
  }
}

async function rebuild(
  hub: Upstream,
  site: string,
  folder: StoppedFolder,
  options: RebuildOptions,
): Promise<RebuiltGateway> {
  const { config, secretsFrom, nowMs } = options
  const isResumed = RebuiltDatabase.isBegun(config.dataDir)
  const offer = await answered(options, (signal) => hub.rebuildOffer(signal), true)
  if (offer.epoch === null)
    throw new Error(`the hub has no data of site ${site}: start a new gateway, or check CARTBARN_SITE_ID`)
  options.onOffer(offer, isResumed)
  const database = new RebuiltDatabase(config.dataDir)
  let isOpen = true
  try {
    let progress = database.progress ?? database.begin(site, sinceMsOf(config, nowMs))
    if (progress.site !== site)
      throw new Error(`${config.dataDir} holds the begun database of site ${progress.site}: choose an empty folder`)
    while (progress.kind !== null) {
      const { kind, after, sinceMs } = progress
      const page = await answered(options, (signal) => hub.rebuildPage({ kind, after, sinceMs }, signal))
      progress = database.take(page)
      options.onProgress(progress)
    }
    let credentials: RebuiltGateway['credentials'] = null
    const identity = database.identity()
    if (identity.site === null) {
      database.complete(nowMs)
      const forkedFrom = { epoch: offer.epoch, reason: REBUILT_REASON }
      const { epoch, ends } = database.identity()
      const rebuilt = { epoch, ends, forked_from: forkedFrom }
      const { cursors } = await answered(options, (signal) => hub.rebuilt(rebuilt, signal))
      const secrets = secretsFor(database, folder, secretsFrom)
      credentials = writeSecrets(join(config.dataDir, CREDENTIALS), secrets)
      database.settle({ site, cursors, forkedFrom }, (connection) => keepSecrets(connection, secrets))
    }
    isOpen = false
    database.putInPlace()
    return { progress, path: databasePath(config.dataDir), credentials }
  } finally {
    if (isOpen) database.close()
  }
}

/** Start of the records to fetch, in ms: retention would delete older ones immediately. */
function sinceMsOf({ retentionDays }: Pick<Config, 'retentionDays'>, nowMs: number): number {
  return retentionDays === 0 ? 0 : Math.max(0, nowMs - retentionDays * DAY_MS)
}

function secretsFor(database: RebuiltDatabase, folder: StoppedFolder, from: string | undefined): NewSecret[] {
  const made = newSecrets(database.connection)
  if (from === undefined) return made
  const copy = join(folder.work, 'secrets.db')
  try {
    folder.makeWork()
    copyFileSync(from, copy)
    if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${copy}-wal`)
    const earlier = openForSetup(copy)
    try {
      replaceTriggersAndViews(earlier)
      migrate(earlier)
    } finally {
      earlier.close()
    }
    takeSecrets(database.connection, copy)
    const isKnown = isKnownBefore(database.connection, copy)
    return made.filter((one) => !isKnown(one))
  } catch (error) {
    throw new Error(
      `${from} is not a database with passwords and keys (${describeFault(error)}): name another one, or omit ` +
        '--secrets-from to create new ones',
      { cause: error },
    )
  }
}

/** Writes the secrets to the disk before they become valid. */
function writeSecrets(path: string, secrets: readonly NewSecret[]): RebuiltGateway['credentials'] {
  if (secrets.length === 0) return null
  const lines = secrets.map(({ kind, id, name, secret }) => [kind, id, name ?? '', secret].map(field).join(','))
  rmSync(path, { force: true })
  const text = `${['kind,id,name,password_or_key', ...lines].join('\n')}\n`
  writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })
  const devices = secrets.filter(({ kind }) => kind === 'device').length
  return { path, devices, users: secrets.length - devices }
}

function field(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Requests a response of the hub, with retries within the time given. Throws an `Error` with a readable message. */
async function answered<Answer>(
  { retryForS, signal, onAway }: RebuildOptions,
  ask: (signal: AbortSignal) => Promise<RequestResult<Answer>>,
  isFirst = false,
): Promise<Answer> {
  const backoff = new Backoff(Math.random, { firstMs: 250, longestMs: 10_000 })
  const startedMs = performance.now()
  for (;;) {
    const outcome = await ask(signal)
    signal.throwIfAborted()
    if (outcome.kind === 'ok') return outcome.answer
    const detail = 'detail' in outcome ? outcome.detail : outcome.kind
    // an older hub that does not have this path
    if (isFirst && outcome.kind === 'retry' && outcome.reason === 'bad_answer')
      throw new Error(`the hub cannot return data (${detail}): upgrade it first`)
    if (outcome.kind !== 'retry') throw new Error(`the hub rejected the request: ${detail}`)
    const waitMs = backoff.nextMs(outcome.retryAfterMs)
    if (performance.now() - startedMs + waitMs > retryForS * 1000)
      throw new Error(
        `no response of the hub for ${retryForS} s (${detail}): repeat the command, which continues where it stopped`,
      )
    if (backoff.failures === 1) onAway(detail)
    await sleep(waitMs, undefined, { signal })
  }
}
