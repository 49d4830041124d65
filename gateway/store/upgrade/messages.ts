import type { MigrationStep } from '../migrate.ts'
import type { BackupRequest } from './backup-before.ts'
import type { BackupBefore } from './program-record.ts'

/** What the thread of an upgrade is to do. */
export type UpgradeJob = { kind: 'backup'; request: BackupRequest } | { kind: 'migrate'; path: string }

/** What it tells. */
export type UpgradeAnswer =
  | { kind: 'backed_up'; backup: BackupBefore }
  | { kind: 'step'; step: MigrationStep }
  | { kind: 'migrated' }
  | { kind: 'failed'; message: string; faultCode: string | null }
