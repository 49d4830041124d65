import { serviceEntriesOf, servicePlansOf } from '#hub/store/site-service.ts'
import { inOrder, paginationOf } from '#shared/http/api-env.ts'
import {
  serviceEntryListSchema,
  serviceEntryQuerySchema,
  servicePlanQuerySchema,
  servicePlansSchema,
} from '#shared/wire/service/service.ts'
import { siteList } from './site-noun.ts'

export const SITE_SERVICE_ENTRIES = siteList({
  path: '/sites/{site}/service-entries',
  summary: 'List the service entries of a site',
  query: serviceEntryQuerySchema,
  schema: serviceEntryListSchema,
  answer: 'Entries, by done_at.',
  read: async ({ cart, plan_id, from = 0, to = Number.MAX_SAFE_INTEGER, ...query }, { sql, site }) => {
    const found = (await serviceEntriesOf(sql, site)).filter((entry) => {
      const doneMs = Date.parse(entry.done_at)
      const isOf = (cart ?? entry.cart) === entry.cart && (plan_id ?? entry.plan_id) === entry.plan_id
      return isOf && doneMs >= from && doneMs <= to
    })
    const ordered = query.order === 'desc' ? found : found.reverse()
    const entries = ordered.slice(query.offset, query.offset + query.limit)
    return { entries, pagination: paginationOf(query, entries) }
  },
})

export const SITE_SERVICE_PLANS = siteList({
  path: '/sites/{site}/service-plans',
  summary: 'List the service plans of a site',
  query: servicePlanQuerySchema,
  schema: servicePlansSchema,
  answer: 'Plans, by created_at.',
  read: async ({ order }, { sql, site }) => [...inOrder(await servicePlansOf(sql, site), order)],
})
