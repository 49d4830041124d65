import { z } from 'zod'
import { runSiteCommand, siteCommandSchema } from '#hub/sites/commands.ts'
import type { Sites } from '#hub/sites/sites.ts'
import type { HubAdminKey } from './admin-key.ts'

/** A command of `cartbarn hub …`; a running hub may have to run it. */
export const hubCommandSchema = z.discriminatedUnion('action', [
  ...siteCommandSchema.options,
  z.strictObject({ action: z.literal('admin-key'), isShown: z.boolean() }),
])

export type HubCommand = z.infer<typeof hubCommandSchema>

/** Runs a command and returns what to print. Throws an error that says why it failed. */
export function runHubCommand(
  { sites, adminKey }: { sites: Sites; adminKey: HubAdminKey },
  command: HubCommand,
): Promise<string> {
  return command.action === 'admin-key' ? adminKey.replace(command.isShown) : runSiteCommand(sites, command)
}
