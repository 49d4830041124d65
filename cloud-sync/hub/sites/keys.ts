import { randomBytes } from 'node:crypto'

const SITE_ID = /^[a-z0-9-]{1,32}$/
const SITE_KEY = /^cbs_([a-z0-9-]{1,32})_[A-Za-z0-9_-]{43}$/

export function isSiteId(text: string): boolean {
  return SITE_ID.test(text)
}

/** Creates the key of a gateway: the site id and 32 random bytes. It is shown once and stored only as its hash. */
export function newSiteKey(siteId: string): string {
  return `cbs_${siteId}_${randomBytes(32).toString('base64url')}`
}

/** Returns the site id in a key; undefined if the text cannot be a key. */
export function siteIdOfKey(key: string): string | undefined {
  return SITE_KEY.exec(key)?.[1]
}
