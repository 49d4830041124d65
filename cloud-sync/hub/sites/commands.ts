import { parseArgs } from 'node:util'
import { toIso } from '#shared/time.ts'
import type { Sites } from './sites.ts'

/** A command that cannot be understood. */
export class UsageError extends Error {}

/** Does what `npm run hub -- site …` says; returns what to print. Throws `UsageError`, or why it cannot be done. */
export async function runSiteCommand(sites: Sites, args: readonly string[]): Promise<string> {
  const { positionals, values } = parse(args)
  const [command, subject, ...more] = positionals
  if (more.length > 0)
    throw new UsageError(`what is ${more.join(' ')}? (a name of several words needs quotes)`)
  if (command === 'list' && subject === undefined) return describeSites(sites)
  if (subject === undefined) throw new UsageError('site add NAME [--id ID] | list | revoke ID | rotate ID')
  if (command === 'add') {
    const { siteId, key } = await sites.add(subject, values.id)
    return `site ${siteId} added; its key, shown this once (keep it):\n\n    ${key}\n`
  }
  if (command === 'revoke') {
    const count = await sites.revoke(subject)
    return `${count === 0 ? 'no key was in use' : 'revoked'}: no gateway can send as ${subject} any more; its data stays\n`
  }
  if (command === 'rotate') {
    const key = await sites.rotate(subject)
    return `the keys of ${subject} so far are revoked; its new key, shown this once (keep it):\n\n    ${key}\n`
  }
  throw new UsageError('site add NAME [--id ID] | list | revoke ID | rotate ID')
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { id: { type: 'string' } },
      allowPositionals: true,
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
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
