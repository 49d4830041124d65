import { notifyServiceManager, type ServiceStatus } from '#shared/service/manager.ts'

/** What goes on in an upgrade of the database: its backup, or a migration and how many are done. */
type UpgradeStep = { kind: 'backup' } | { kind: 'migration'; name: string; done: number; of: number }

/**
 * So long a step may take before the next news; a start that gets on asks for more by itself (`shared/start-watch`).
 */
const STEP_US = 300_000_000

/** Tells the service manager how far an upgrade is, and that the start takes its time; resolves once it knows. */
export async function notifyUpgrade(
  step: UpgradeStep,
  tell: (news: ServiceStatus) => Promise<string | null> = notifyServiceManager,
): Promise<void> {
  // what cannot be told keeps no upgrade from going on
  await tell({ EXTEND_TIMEOUT_USEC: STEP_US, STATUS: wordsOf(step) })
}

function wordsOf(step: UpgradeStep): string {
  if (step.kind === 'backup') return 'upgrading the database: the backup before it'
  return `upgrading the database: ${step.name} (${step.done + 1} of ${step.of})`
}
