import type { Database } from '#hub/store/database/database.ts'
import { insertSite, listSites, replaceSiteKeys, type SiteSummary } from '#hub/store/sites.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import { hashSecret, newShortId } from '#shared/ids.ts'
import type { Clock } from '#shared/time.ts'
import { isSiteId, newSiteKey } from './keys.ts'

const MAX_NAME = 200

export class Sites {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** Adds a site and returns its key, which cannot be shown again. Throws `invalid_site_id` or `site_exists`. */
  async add(name: string, id?: string): Promise<{ siteId: string; key: string }> {
    const siteId = id ?? siteIdFor(name)
    if (!isSiteId(siteId)) {
      throw new InvalidRequestError(
        'invalid_site_id',
        'the id of a site must have 1 to 32 characters of a-z, 0-9 and -',
      )
    }
    if (name.trim() === '' || name.length > MAX_NAME) {
      throw new InvalidRequestError('invalid_site_name', `the name of a site must have 1 to ${MAX_NAME} characters`)
    }
    const key = newSiteKey(siteId)
    await insertSite(this.#database, {
      siteId,
      name: name.trim(),
      keyHash: hashSecret(key),
      nowMs: this.#clock.nowMs(),
    })
    return { siteId, key }
  }

  list(): Promise<SiteSummary[]> {
    return listSites(this.#database)
  }

  /** Revokes all keys of the site; its data stays. Throws `site_not_found`. */
  revoke(siteId: string): Promise<number> {
    return replaceSiteKeys(this.#database, siteId, null, this.#clock.nowMs())
  }

  /** Issues a new key for the site and revokes its earlier keys. Throws `site_not_found`. */
  async rotate(siteId: string): Promise<string> {
    const key = newSiteKey(siteId)
    await replaceSiteKeys(this.#database, siteId, hashSecret(key), this.#clock.nowMs())
    return key
  }
}

function siteIdFor(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    // removes accents, also of letters decomposed into two characters
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 32)
    .replaceAll(/^-+|-+$/g, '')
  return words === '' ? `site-${newShortId()}` : words
}
