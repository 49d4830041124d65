import type { z } from 'zod'
import { answers } from '#shared/http/responses.ts'
import { newestPageQuerySchema } from '#shared/wire/schema/params.ts'
import { siteParams } from '#shared/wire/sites.ts'
import { adminOnly } from './guards.ts'

type Page = z.infer<typeof newestPageQuerySchema>

/** Request and response of a route that returns a page of a site's objects, newest first. */
export function pageOfSite<List extends z.ZodType>(list: List, what: string) {
  return {
    request: { params: siteParams, query: newestPageQuerySchema },
    responses: answers(list, `${what}, newest first by default.`, 400, 403, 404),
  }
}

/** Describes the position of a page in the whole list. */
export function paginationOf({ limit, offset }: Page, items: readonly unknown[]) {
  return { limit, offset, returned: items.length }
}

/** Access, request and response of a route for admins that deletes archived data of a site. */
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
