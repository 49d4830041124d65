import type { Sql } from '#hub/store/database/database.ts'
import { findSiteDevice } from '#hub/store/site-devices.ts'
import { findSite, type SiteRow } from '#hub/store/site-figures.ts'
import { siteNotFound } from '#hub/store/sites.ts'
import { hasTelemetry } from '#hub/store/telemetry/reader.ts'
import type { HubUser } from '#hub/store/users.ts'
import { ForbiddenError, NotFoundError } from '#shared/errors.ts'

export function isHubAdmin({ role }: HubUser): boolean {
  return role === 'admin'
}

/** True if the user may see the codes of lock events unmasked. */
export function canSeeCodes(user: HubUser): boolean {
  return isHubAdmin(user) || !user.masksCodes
}

/** Returns the sites that a user may see; null means all sites. */
export function visibleSites(user: HubUser): readonly string[] | null {
  return isHubAdmin(user) ? null : user.siteIds
}

/** Throws `site_not_found`, and `site_forbidden` for a site outside the user's scope. */
export async function requireSite(sql: Sql, user: HubUser, siteId: string): Promise<SiteRow> {
  const site = await findSite(sql, siteId)
  if (site === undefined) throw siteNotFound(siteId)
  if (visibleSites(user)?.includes(siteId) === false)
    throw new ForbiddenError('site_forbidden', 'the site is not in the scope of this user')
  return site
}

/** Fields of a device that reads of its history need. */
export interface TrackedDevice {
  readonly siteId: string
  readonly hardwareId: string
  readonly shortId: string
  readonly name: string | null
}

export interface SiteDevice extends TrackedDevice {
  /** JSON written by its gateway. */
  readonly text: string
}

/** Throws like `requireSite`, and `device_not_found`. */
export async function requireDevice(sql: Sql, user: HubUser, siteId: string, id: string): Promise<SiteDevice> {
  await requireSite(sql, user, siteId)
  const row = await findSiteDevice(sql, siteId, id)
  if (row === undefined) throw new NotFoundError('device_not_found', `there is no device ${id} at this site`)
  const { short_id, name }: Record<string, unknown> = JSON.parse(row.body)
  return {
    siteId,
    hardwareId: row.hardware_id,
    shortId: typeof short_id === 'string' ? short_id : row.hardware_id,
    name: typeof name === 'string' ? name : null,
    text: row.body,
  }
}

/** Like `requireDevice`, for histories only: they may arrive seconds before the device's first state with its name. */
export async function requireTrackedDevice(
  sql: Sql,
  user: HubUser,
  siteId: string,
  id: string,
): Promise<TrackedDevice> {
  try {
    return await requireDevice(sql, user, siteId, id)
  } catch (error) {
    if (!(error instanceof NotFoundError) || error.code !== 'device_not_found') throw error
    const device = { siteId, hardwareId: id, shortId: id, name: null }
    if (!(await hasTelemetry(sql, device))) throw error
    return device
  }
}
