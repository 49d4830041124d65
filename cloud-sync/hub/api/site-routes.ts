import type { z } from 'zod'
import { answers } from '#shared/http/responses.ts'
import { newestPageQuerySchema } from '#shared/wire/schema/params.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { adminOnly } from './guards.ts'

type Page = z.infer<typeof newestPageQuerySchema>

/** Of a route that answers a page of what there is of a site, newest first: what it takes and answers. */
export function pageOfSite<List extends z.ZodType>(list: List, what: string) {
  return {
    request: { params: siteParams, query: newestPageQuerySchema },
    responses: answers(list, `${what}, newest first unless order says otherwise.`, 400, 403, 404),
  }
}

/** Which page it is of what there is. */
export function paginationOf({ limit, offset }: Page, items: readonly unknown[]) {
  return { limit, offset, returned: items.length }
}

/** Of a route for admins that deletes what the hub keeps aside of a site: who may, what it takes and answers. */
export function deletionAtSite<Query extends z.ZodObject, Answer extends z.ZodType>(
  query: Query,
  answer: Answer,
  what: string,
) {
  return {
    middleware: [adminOnly],
    request: { params: siteParams, query },
    responses: answers(answer, what, 400, 403, 404),
  }
}
