// Backup thread: makes one backup, lists those of a target or restores one, posts its result and ends.

import { parentPort, workerData } from 'node:worker_threads'
import type { BackupAnswer, BackupRequest } from '#services/backups.ts'
import type { RestoreAnswer, RestoreRequest } from '#services/restores.ts'
import type { ListAnswer, ListRequest } from '#services/set-up-backups.ts'
import { describeError } from '#shared/errors.ts'
import { lowerThreadPriority } from '#shared/thread.ts'
import { backupPlaceOf } from './backup-places.ts'
import { backUp } from './backups.ts'
import { findBackups } from './found-backups.ts'
import { performRestore } from './restore-request.ts'

/** Lowest priority of a thread. */
const LOWEST = 19

function post(answer: BackupAnswer | ListAnswer | RestoreAnswer): void {
  parentPort?.postMessage(answer)
}

async function answer(request: BackupRequest): Promise<BackupAnswer> {
  const { dataDir, target, mustBeMounted, s3, passphrase, keep, atMs, knownSets } = request
  try {
    lowerThreadPriority(LOWEST)
    const to = backupPlaceOf(target, 'write', { mustBeMounted, dataDir, readS3: () => s3 })
    const memory = { known: knownSets, remember: (header: string) => post({ kind: 'opened', header }) }
    const made = await backUp({ dataDir, to, passphrase, keep, atMs, isGentle: true, memory })
    return { kind: 'made', made }
  } catch (error) {
    return { kind: 'failed', reason: describeError(error) }
  }
}

async function list({ target, s3, passphrase }: ListRequest): Promise<ListAnswer> {
  try {
    return {
      kind: 'listed',
      backups: await findBackups(backupPlaceOf(target, 'read', { readS3: () => s3 }), passphrase),
    }
  } catch (error) {
    return { kind: 'failed', reason: describeError(error) }
  }
}

async function restore(request: RestoreRequest): Promise<RestoreAnswer> {
  try {
    const result = await performRestore(request, (done, of) => post({ kind: 'progress', done, of }))
    return { kind: 'restored', result }
  } catch (error) {
    return { kind: 'failed', reason: describeError(error) }
  }
}

// set by the service that started the thread
const request = workerData as BackupRequest | ListRequest | RestoreRequest
void ('keep' in request ? answer(request) : 'restores' in request ? restore(request) : list(request)).then(post)
