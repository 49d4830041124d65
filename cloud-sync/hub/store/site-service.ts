import {
  type ServiceEntry,
  type ServicePlan,
  serviceEntrySchema,
  servicePlanSchema,
} from '#shared/wire/service/service.ts'
import type { Sql } from './database/database.ts'

/** Returns the service entries of a site, newest first. */
export async function serviceEntriesOf(sql: Sql, siteId: string): Promise<ServiceEntry[]> {
  const entries = await documentsOf(sql, siteId, 'service_entry', ({ entry }) => serviceEntrySchema.safeParse(entry))
  return entries.sort((a, b) => (a.done_at > b.done_at ? -1 : 1))
}

/** Returns the service plans of a site, oldest first. */
export async function servicePlansOf(sql: Sql, siteId: string): Promise<ServicePlan[]> {
  const plans = await documentsOf(sql, siteId, 'service_plan', ({ plan }) => servicePlanSchema.safeParse(plan))
  return plans.sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

async function documentsOf<Found>(
  sql: Sql,
  siteId: string,
  table: string,
  read: (body: Record<string, unknown>) => { data?: Found | undefined },
): Promise<Found[]> {
  const rows = await sql.all<{ body: string }>(
    'SELECT body FROM entity WHERE site_id = $1 AND entity_table = $2 AND body IS NOT NULL',
    [siteId, table],
  )
  return rows.flatMap(({ body }) => read(JSON.parse(body)).data ?? [])
}
