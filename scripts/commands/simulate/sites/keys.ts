import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { CommandError } from '#scripts/cli/command.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { SitesOptions } from './options.ts'

/** A site of the hub, and what its gateway pushes with. */
export interface SiteKey {
  readonly siteId: string
  readonly key: string
}

/** The hub cannot be used: it does not answer, or refuses. The message is for the person at the terminal. */
export class HubError extends CommandError {}

const AT_ONCE = 8
const ATTEMPTS = 10
const LONGEST_WAIT_S = 30

const SITE_KEY = /^cbs_([a-z0-9-]{1,32})_\S{16,}$/
const issuedSchema = z.object({ key: z.string().regex(SITE_KEY) })

/** Makes the sites at the hub, or gives those that are there new keys; or reads keys from a file. Throws `HubError`. */
export async function siteKeys(options: SitesOptions, signal: AbortSignal): Promise<SiteKey[]> {
  if ('keysFile' in options.access) return readKeys(options.access.keysFile, options.sites)
  const { adminKey } = options.access
  const numbers = Array.from({ length: options.sites }, (_, i) => i + 1)
  const keys = new Map<number, SiteKey>()
  await inParallel(numbers, AT_ONCE, async (number) => {
    const siteId = `${options.prefix}-${String(number).padStart(3, '0')}`
    keys.set(number, { siteId, key: await issueKey(options.hubUrl, adminKey, siteId, number, signal) })
  })
  return numbers.flatMap((number) => keys.get(number) ?? [])
}

async function readKeys(file: string, sites: number): Promise<SiteKey[]> {
  const words = (await readFile(file, 'utf8')).split(/\s+/)
  const keys = words.flatMap((key) => {
    const siteId = SITE_KEY.exec(key)?.[1]
    return siteId === undefined ? [] : [{ siteId, key }]
  })
  if (keys.length < sites) throw new HubError(`${file} has ${keys.length} site keys, not ${sites}`)
  return keys.slice(0, sites)
}

async function issueKey(
  hubUrl: string,
  adminKey: string,
  siteId: string,
  number: number,
  signal: AbortSignal,
): Promise<string> {
  const post = (path: string, body?: unknown) => send(`${hubUrl}${path}`, adminKey, body, signal)
  let answer = await post('/sites', { site_id: siteId, name: `Simulated course ${number}` })
  if (answer.status === 409) answer = await post(`/sites/${siteId}/keys`)
  const issued = issuedSchema.safeParse(answer.value)
  if (answer.status < 300 && issued.success) return issued.data.key
  if (answer.status === 401 || answer.status === 403) {
    throw new HubError(`The hub refuses the key with ${answer.status}: it must be an admin's`)
  }
  throw new HubError(`The hub does not make site ${siteId}: it answers ${answer.status}`)
}

/** When the hub asks to come back later, waits as long as told. */
async function send(
  url: string,
  adminKey: string,
  body: unknown,
  signal: AbortSignal,
): Promise<{ status: number; value: unknown }> {
  for (let attempt = 1; ; attempt++) {
    const headers = { 'X-API-Key': adminKey, 'Content-Type': 'application/json' }
    const response = await fetch(url, {
      ...{ method: 'POST', headers, signal },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new HubError(`No hub answers at ${url}`, { cause: error })
    })
    const isBusy = response.status === 429 || response.status === 503
    const text = await response.text()
    if (!isBusy || attempt === ATTEMPTS) return { status: response.status, value: parse(text) }
    const seconds = Math.min(LONGEST_WAIT_S, Number(response.headers.get('retry-after')) || 1)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
