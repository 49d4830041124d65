import type { Context } from 'hono'
import type { z } from 'zod'
import { problemSchema } from '#shared/wire/schema/problem.ts'

export const PROBLEM_TYPE = 'application/problem+json'
const problem = { [PROBLEM_TYPE]: { schema: problemSchema } }

/** Default descriptions of error statuses, for routes that do not give their own. */
export const PROBLEMS = {
  400: 'A parameter or the body is malformed or out of range.',
  401: 'No API key, or an invalid one.',
  403: 'The role does not permit it, or the device is outside the scope.',
  404: 'The object does not exist.',
  409: 'The request conflicts with the current state.',
  412: 'The object has changed since the version in If-Match.',
  413: 'The body is too large.',
  415: 'The body has a Content-Type other than documented, or a Content-Encoding.',
  428: 'If-Match is missing.',
  429: 'Too many requests, or too many invalid keys.',
  503: 'The store is not available now; retry after Retry-After.',
} as const

type ProblemStatus = keyof typeof PROBLEMS

/** JSON response for the `responses` of a route. */
export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

/**
 * Response that the route documents but its types cannot express: they know only JSON values, not texts, files or 304.
 * The handler must ensure that it matches the schema of the route.
 */
export function described(answer: Response): never {
  // `never` fits every return type that a route requires; the response is sent unchanged
  return answer as never
}

/** Response with JSON that is serialised already. */
export function jsonText(c: Context, text: string | Uint8Array<ArrayBuffer>): never {
  return described(c.body(text, 200, { 'content-type': 'application/json' }))
}

/** Response with a text or file that is generated while it is sent. */
export function streamed(c: Context, content: ReadableStream, headers: Record<string, string>): never {
  c.set('isStreamed', true)
  const isHead = c.req.method === 'HEAD'
  // a HEAD response has no body to read
  if (isHead) void content.cancel()
  return described(isHead ? c.body(null, 200, headers) : c.body(content, 200, headers))
}

/** Error responses for the `responses` of a route; 401, 429 and 503 are added everywhere. */
export function problems<Status extends ProblemStatus>(...statuses: Status[]) {
  const all: ProblemStatus[] = [401, 429, 503, ...statuses]
  return Object.fromEntries(all.map((status) => [status, { description: PROBLEMS[status], content: problem }])) as {
    [S in Status | 401 | 429 | 503]: { description: string; content: typeof problem }
  }
}

/** `responses` of a route: 200 with JSON, or an error with one of these statuses. */
export function answers<Schema extends z.ZodType, Status extends ProblemStatus>(
  schema: Schema,
  description: string,
  ...statuses: Status[]
) {
  return { 200: json(schema, description), ...problems(...statuses) }
}

/** JSON body for the `request` of a route. */
export function body<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { 'application/json': { schema } } }
}

/** Optional body, equivalent to an empty object if absent. Requires `jsonBodyOrNone`. */
export function bodyOrNone<Schema extends z.ZodType>(schema: Schema) {
  return { ...body(schema), required: false }
}
