import { parentPort, workerData } from 'node:worker_threads'
import { describeError } from '#shared/errors.ts'
import { storeFaultCode } from '../db/fault.ts'
import { migrate } from '../migrate.ts'
import { openForSetup } from '../writer/open.ts'
import { type BackupRequest, backUpBefore } from './backup-before.ts'
import type { UpgradeAnswer, UpgradeJob } from './messages.ts'

const work: UpgradeJob = workerData

const send = (answer: UpgradeAnswer) => parentPort?.postMessage(answer)

try {
  if (work.kind === 'backup') send({ kind: 'backed_up', backup: backUp(work.request) })
  else migrateAll(work.path)
} catch (error) {
  send({ kind: 'failed', message: describeError(error), faultCode: storeFaultCode(error) })
}

function backUp(request: BackupRequest): ReturnType<typeof backUpBefore> {
  // moves the log into the database; the last connection removes the log when it closes
  openForSetup(request.path).close()
  return backUpBefore(request)
}

function migrateAll(path: string): void {
  const connection = openForSetup(path)
  try {
    migrate(connection, undefined, (step) => send({ kind: 'step', step }))
  } finally {
    connection.close()
  }
  send({ kind: 'migrated' })
}
