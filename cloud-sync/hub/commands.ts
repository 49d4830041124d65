import { z } from 'zod'
import type { Sites } from '#hub/sites/sites.ts'
import type { Database } from '#hub/store/database/database.ts'
import { toIso } from '#shared/time.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { HubAdminKey } from './admin-key.ts'
import { backUpHub } from './backup.ts'

const word = z.string().max(1000)

/** A command of `cartbarn hub site …`; a running hub may have to run it. */
const siteCommandSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('add'), name: word, id: word.optional() }),
  z.strictObject({ action: z.literal('list') }),
  z.strictObject({ action: z.literal(['rotate', 'revoke']), id: word }),
])

type SiteCommand = z.infer<typeof siteCommandSchema>

/** Runs a command and returns its output. Throws an error with the reason of a failure. */
async function runSiteCommand(sites: Sites, command: SiteCommand): Promise<string> {
  switch (command.action) {
    case 'list':
      return describeSites(sites)
    case 'add': {
      const { siteId, key } = await sites.add(command.name, command.id)
      return `added site ${siteId}; its key, shown only once (keep it):\n\n    ${key}\n`
    }
    case 'revoke': {
      const count = await sites.revoke(command.id)
      return (
        `${count === 0 ? 'the site had no valid key' : 'revoked all keys'}: no gateway can send as ${command.id} ` +
        `any more; the hub keeps the data of the site\n`
      )
    }
    case 'rotate': {
      const key = await sites.rotate(command.id)
      return `revoked the earlier keys of ${command.id}; its new key, shown only once (keep it):\n\n    ${key}\n`
    }
  }
}

async function describeSites(sites: Sites): Promise<string> {
  const all = await sites.list()
  if (all.length === 0) return `no sites yet; add one with: ${typedCommand('hub site add NAME')}\n`
  const lines = all.map(({ siteId, name, keys, lastSeenMs }) => {
    const seen = lastSeenMs === null ? 'never seen' : `last seen ${toIso(lastSeenMs)}`
    return `${siteId.padEnd(34)}${name}  (${keys === 0 ? 'no key' : 'key in use'}, ${seen})\n`
  })
  return lines.join('')
}

/** A command of `cartbarn hub …`; a running hub may have to run it. */
export const hubCommandSchema = z.discriminatedUnion('action', [
  ...siteCommandSchema.options,
  z.strictObject({ action: z.literal('admin-key'), isShown: z.boolean() }),
  z.strictObject({ action: z.literal('backup'), path: z.string().min(1).max(4096) }),
])

export type HubCommand = z.infer<typeof hubCommandSchema>

/** Runs a command and returns the text to print. Throws an error with the reason of a failure. */
export function runHubCommand(
  { sites, adminKey, database }: { sites: Sites; adminKey: HubAdminKey; database: Database },
  command: HubCommand,
): Promise<string> {
  if (command.action === 'backup') return backUpHub(database, command.path)
  return command.action === 'admin-key' ? adminKey.replace(command.isShown) : runSiteCommand(sites, command)
}
