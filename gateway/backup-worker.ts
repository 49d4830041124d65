// The thread of a backup: it makes one, says what it came to, and ends.

import { parentPort, workerData } from 'node:worker_threads'
import type { BackupAnswer, BackupRequest } from '#services/backups.ts'
import { describeError } from '#shared/errors.ts'
import { letOthersFirst } from '#shared/thread.ts'
import { backupPlaceOf } from './backup-places.ts'
import { backUp } from './backups.ts'

/** Below everything else. */
const LOWEST = 19

async function answer(request: BackupRequest): Promise<BackupAnswer> {
  const { dataDir, target, mustBeMounted, s3, passphrase, keep, atMs } = request
  try {
    letOthersFirst(LOWEST)
    const to = backupPlaceOf(target, 'write', { mustBeMounted, readS3: () => s3 })
    const made = await backUp({ dataDir, to, passphrase, keep, atMs, isGentle: true })
    return { kind: 'made', made }
  } catch (error) {
    return { kind: 'failed', reason: describeError(error) }
  }
}

// the service that started the thread gave it this
const request = workerData as BackupRequest
void answer(request).then((made) => parentPort?.postMessage(made))
