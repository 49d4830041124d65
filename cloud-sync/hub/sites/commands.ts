import { z } from 'zod'
import { toIso } from '#shared/time.ts'
import type { Sites } from './sites.ts'

const word = z.string().max(1000)

/** What `cartbarn hub site …` asks for; it may have to go to the hub that runs. */
export const siteCommandSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('add'), name: word, id: word.optional() }),
  z.strictObject({ action: z.literal('list') }),
  z.strictObject({ action: z.literal(['rotate', 'revoke']), id: word }),
])

export type SiteCommand = z.infer<typeof siteCommandSchema>

/** Does what a command asks for; returns what to print. Throws why it cannot be done. */
export async function runSiteCommand(sites: Sites, command: SiteCommand): Promise<string> {
  switch (command.action) {
    case 'list':
      return describeSites(sites)
    case 'add': {
      const { siteId, key } = await sites.add(command.name, command.id)
      return `site ${siteId} added; its key, shown this once (keep it):\n\n    ${key}\n`
    }
    case 'revoke': {
      const count = await sites.revoke(command.id)
      return `${count === 0 ? 'no key was in use' : 'revoked'}: no gateway can send as ${command.id} any more; its data stays\n`
    }
    case 'rotate': {
      const key = await sites.rotate(command.id)
      return `the keys of ${command.id} so far are revoked; its new key, shown this once (keep it):\n\n    ${key}\n`
    }
  }
}

async function describeSites(sites: Sites): Promise<string> {
  const all = await sites.list()
  if (all.length === 0) return 'no site yet: npm run hub -- site add NAME\n'
  const lines = all.map(({ siteId, name, keys, lastSeenMs }) => {
    const seen = lastSeenMs === null ? 'never seen' : `last seen ${toIso(lastSeenMs)}`
    return `${siteId.padEnd(34)}${name}  (${keys === 0 ? 'no key' : 'key in use'}, ${seen})\n`
  })
  return lines.join('')
}
