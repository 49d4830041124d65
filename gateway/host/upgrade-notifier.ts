import { notifyServiceManager, type ServiceStatus } from '#shared/service/manager.ts'

/** Step of an upgrade of the database: its backup, or a migration with the number done. */
type UpgradeStep = { kind: 'backup' } | { kind: 'migration'; name: string; done: number; of: number }

/** Limit of a step until the next message; a start with progress requests more itself (`shared/start-watch`). */
const STEP_US = 300_000_000

/** Sends the service manager an upgrade's progress and a longer start timeout; resolves once it has them. */
export async function notifyUpgrade(
  step: UpgradeStep,
  notify: (news: ServiceStatus) => Promise<string | null> = notifyServiceManager,
): Promise<void> {
  // a failed message must not stop the upgrade
  await notify({ EXTEND_TIMEOUT_USEC: STEP_US, STATUS: wordsOf(step) })
}

function wordsOf(step: UpgradeStep): string {
  if (step.kind === 'backup') return 'upgrading the database: making a backup first'
  return `upgrading the database: ${step.name} (${step.done + 1} of ${step.of})`
}
