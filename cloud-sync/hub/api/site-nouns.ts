import { z } from 'zod'
import { listAuditEntries } from '#hub/store/audit-log.ts'
import { entitiesOf } from '#hub/store/entities.ts'
import { listSiteGroups } from '#hub/store/site-groups.ts'
import { siteSettingsOf } from '#hub/store/site-settings.ts'
import { siteZonesOf } from '#hub/store/site-zones.ts'
import { inOrder, paginationOf } from '#shared/http/api-env.ts'
import { entityRev } from '#shared/sync-hash.ts'
import { toIso } from '#shared/time.ts'
import { type AuditEntryJson, auditLogQuerySchema, auditLogSchema } from '#shared/wire/audit-log.ts'
import { groupSchema } from '#shared/wire/groups.ts'
import {
  type SiteRevision,
  siteRevisionsQuerySchema,
  siteRevisionsSchema,
} from '#shared/wire/replication/site-intents.ts'
import type { AuditEntryBody } from '#shared/wire/replication/sync.ts'
import { idListQuerySchema } from '#shared/wire/schema/params.ts'
import { siteSettingsSchema } from '#shared/wire/site.ts'
import { toSiteSettingsJson } from '#shared/wire/site-json.ts'
import { zonesSchema } from '#shared/wire/zones.ts'
import { adminOnly, operatorOnly } from './guards.ts'
import { siteList, siteNoun } from './site-noun.ts'

export const SITE_GROUPS = siteList({
  path: '/sites/{site}/groups',
  summary: 'List the groups of a site',
  query: idListQuerySchema,
  schema: z.array(groupSchema),
  answer: 'Groups, by group_id.',
  read: async ({ order }, { sql, site }) =>
    inOrder(await listSiteGroups(sql, site), order).map((group) => ({
      group_id: group.groupId,
      name: group.name,
      device_count: group.deviceCount,
      geofence_version: group.geofenceVersion,
      created_at: toIso(group.createdAtMs),
      updated_at: toIso(group.updatedAtMs),
    })),
})

/** Course as described by its staff. */
export const SITE_SETTINGS = siteNoun({
  path: '/sites/{site}/site',
  summary: 'Get the settings of a site',
  schema: siteSettingsSchema,
  answer: 'Settings of its gateway; the default for those not set.',
  read: async ({ sql, site }) => toSiteSettingsJson(await siteSettingsOf(sql, site)),
})

/** Zones of a site for all its groups. */
export const SITE_ZONES = siteNoun({
  path: '/sites/{site}/zones',
  summary: 'Get the zones of a site',
  description: 'Zones for all groups, as GeoJSON; groups may have additional zones.',
  schema: zonesSchema,
  answer: 'Zones of its gateway; none at version 0 if none were ever set.',
  read: ({ sql, site }) => siteZonesOf(sql, site),
})

/** Audit log of a site: changes and sent commands, with their actors. For admins. */
export const SITE_AUDIT_LOG = siteList({
  path: '/sites/{site}/audit-log',
  summary: 'List the activity at a site',
  description:
    'The audit log of the gateway, with its users. Entries stay here for CARTBARN_HUB_AUDIT_LOG_RETENTION_DAYS, ' +
    'even if the gateway has deleted them. For admins.',
  middleware: [adminOnly],
  query: auditLogQuerySchema,
  schema: auditLogSchema,
  answer: 'What was done, newest first.',
  read: async ({ from, to, user_id, action, ...page }, { sql, site }) => {
    const query = { ...page, fromMs: from, toMs: to, userId: user_id, action }
    const entries = (await listAuditEntries(sql, site, query)).map(toAuditEntryJson)
    return { entries, pagination: paginationOf(page, entries) }
  },
})

function toAuditEntryJson({ entryId, body }: { entryId: string; body: AuditEntryBody }): AuditEntryJson {
  return {
    entry_id: entryId,
    at: toIso(body.at_ms),
    user_id: body.user_id,
    person: body.person,
    session_id: body.session_id,
    address: body.address,
    action: body.action,
    target: body.target,
    before: body.before,
    after: body.after,
  }
}

/** Kind of the objects in each of these tables, as named by intents. */
const SUBJECTS = {
  device_config: (key) => ({ kind: 'config.set', hardware_id: key }),
  group_config: (key) => {
    const [groupId = '', ...type] = key.split('/')
    return { kind: 'config.set', group_id: Number(groupId), device_type: type.join('/') }
  },
  geofence_set: (key) => ({ kind: 'geofence.put', group_id: Number(key) }),
  user: (key) => ({ kind: 'user.disable', user_id: key }),
} as const satisfies Record<string, (key: string) => Omit<SiteRevision, 'rev'>>

/** Revisions that an intent may name as its base. */
export const SITE_REVISIONS = siteList({
  path: '/sites/{site}/revisions',
  summary: 'List the revisions that intents can name',
  description:
    'The revision of each object that an intent can change, as the gateway last reported it. Give it as ' +
    'base_rev, and the gateway refuses the intent if the object was changed at the site meanwhile. For operators ' +
    'and admins.',
  middleware: [operatorOnly],
  query: siteRevisionsQuerySchema,
  schema: siteRevisionsSchema,
  answer: 'All revisions of the site.',
  read: async ({ order }, { sql, site }) => {
    const revisions: SiteRevision[] = []
    for (const { table, key, body } of await entitiesOf(sql, site, Object.keys(SUBJECTS))) {
      // the query selects only these tables
      const subject = SUBJECTS[table as keyof typeof SUBJECTS]
      const named = subject(key)
      // a key that no gateway of ours writes identifies no object
      if ('group_id' in named && !Number.isSafeInteger(named.group_id)) continue
      revisions.push({ ...named, rev: entityRev(JSON.parse(body)) })
    }
    return { revisions: [...inOrder(revisions, order)], none: entityRev(null) }
  },
})
