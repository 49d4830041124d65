import { z } from 'zod'
import { runSiteCommand, siteCommandSchema } from '#hub/sites/commands.ts'
import type { Sites } from '#hub/sites/sites.ts'
import type { Database } from '#hub/store/database/database.ts'
import type { HubAdminKey } from './admin-key.ts'
import { backUpHub } from './backup.ts'

/** A command of `cartbarn hub …`; a running hub may have to run it. */
export const hubCommandSchema = z.discriminatedUnion('action', [
  ...siteCommandSchema.options,
  z.strictObject({ action: z.literal('admin-key'), isShown: z.boolean() }),
  z.strictObject({ action: z.literal('backup'), path: z.string().min(1).max(4096) }),
])

export type HubCommand = z.infer<typeof hubCommandSchema>

/** Runs a command and returns what to print. Throws an error that says why it failed. */
export function runHubCommand(
  { sites, adminKey, database }: { sites: Sites; adminKey: HubAdminKey; database: Database },
  command: HubCommand,
): Promise<string> {
  if (command.action === 'backup') return backUpHub(database, command.path)
  return command.action === 'admin-key' ? adminKey.replace(command.isShown) : runSiteCommand(sites, command)
}
