import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { CommandError } from '#scripts/cli/command.ts'
import { ApiError } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { AT_ONCE, type Registry, registered } from '../register.ts'
import type { SitesOptions } from './options.ts'

/** Site of the hub, and the key with which its gateway pushes. */
export interface SiteKey {
  readonly siteId: string
  readonly key: string
}

const SITE_KEY = /^cbs_([a-z0-9-]{1,32})_\S{16,}$/
const issuedSchema = z.object({ key: z.string().regex(SITE_KEY) })

/** Creates the sites at the hub, or gives existing ones new keys; or reads keys from a file. Throws `CommandError`. */
export async function siteKeys(options: SitesOptions, signal: AbortSignal): Promise<SiteKey[]> {
  const { access, hubUrl: url, prefix, sites } = options
  if ('keysFile' in access) return readKeys(access.keysFile, sites)
  const hub: Registry = { name: 'hub', startedWith: typedCommand('hub'), url, signal }
  const numbers = Array.from({ length: sites }, (_, i) => i + 1)
  return inParallel(numbers, AT_ONCE, async (number) => {
    const siteId = `${prefix}-${String(number).padStart(3, '0')}`
    const site = { site_id: siteId, name: `Simulated course ${number}` }
    const key = await registered(hub, siteId, {
      create: () => issueKey(hub, access.adminKey, '/sites', site),
      renew: () => issueKey(hub, access.adminKey, `/sites/${siteId}/keys`),
    })
    return { siteId, key }
  })
}

async function readKeys(file: string, sites: number): Promise<SiteKey[]> {
  const words = (await readFile(file, 'utf8')).split(/\s+/)
  const keys = words.flatMap((key) => {
    const siteId = SITE_KEY.exec(key)?.[1]
    return siteId === undefined ? [] : [{ siteId, key }]
  })
  if (keys.length < sites) throw new CommandError(`${file} has ${keys.length} site keys, not ${sites}`)
  return keys.slice(0, sites)
}

async function issueKey(
  { url, signal }: Registry,
  adminKey: string,
  path: string,
  body?: Readonly<Record<string, string>>,
): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    signal,
    body: body === undefined ? null : JSON.stringify(body),
    headers: { 'X-API-Key': adminKey, 'Content-Type': 'application/json' },
  })
  const text = await response.text()
  if (!response.ok) throw new ApiError(`POST ${path}`, response, text)
  return issuedSchema.parse(JSON.parse(text)).key
}
