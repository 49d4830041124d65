import { randomBytes } from 'node:crypto'
import type { Sql } from '#hub/store/database/database.ts'
import { siteKeyState } from '#hub/store/sites.ts'
import { AppError } from '#shared/errors.ts'
import { hashSecret } from '#shared/ids.ts'

const SITE_ID = /^[a-z0-9-]{1,32}$/
const SITE_KEY = /^cbs_([a-z0-9-]{1,32})_[A-Za-z0-9_-]{43}$/

export function isSiteId(text: string): boolean {
  return SITE_ID.test(text)
}

/** The key of a gateway: it says of which site, and 32 random bytes; shown once, kept only as its hash. */
export function newSiteKey(siteId: string): string {
  return `cbs_${siteId}_${randomBytes(32).toString('base64url')}`
}

/** Whose key a request carries. Throws `missing_site_key`, `invalid_site_key` or `revoked_site_key`. */
export async function authenticateSite(sql: Sql, authorization: string | undefined): Promise<string> {
  const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (key === undefined) {
    throw refusal('missing_site_key', 'send the site key as Authorization: Bearer …')
  }
  const siteId = SITE_KEY.exec(key)?.[1]
  const state = siteId === undefined ? 'unknown' : await siteKeyState(sql, siteId, hashSecret(key))
  if (siteId === undefined || state === 'unknown') {
    throw refusal('invalid_site_key', 'this is not a valid site key')
  }
  if (state === 'revoked') throw refusal('revoked_site_key', 'this site key was revoked')
  return siteId
}

function refusal(code: string, message: string): AppError {
  return new AppError('unauthenticated', code, message)
}
