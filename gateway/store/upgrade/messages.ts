import type { MigrationStep } from '../migrate.ts'
import type { BackupRequest } from './backup-before.ts'
import type { BackupBefore } from './program-record.ts'

/** Task of the upgrade thread. */
export type UpgradeJob = { kind: 'backup'; request: BackupRequest } | { kind: 'migrate'; path: string }

/** Message from the upgrade thread. */
export type UpgradeAnswer =
  | { kind: 'backed_up'; backup: BackupBefore }
  | { kind: 'step'; step: MigrationStep }
  | { kind: 'migrated' }
  | { kind: 'failed'; message: string; faultCode: string | null }
