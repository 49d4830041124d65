import type { Context } from 'hono'
import type { z } from 'zod'
import { problemSchema } from '#shared/wire/schema/problem.ts'

export const PROBLEM_TYPE = 'application/problem+json'
const problem = { [PROBLEM_TYPE]: { schema: problemSchema } }

/** What the statuses of errors mean wherever a route does not say it more exactly. */
export const PROBLEMS = {
  400: 'A parameter or the body is malformed or out of range.',
  401: 'No API key, or a bad one.',
  403: 'The role does not allow it, or the device is outside the scope.',
  404: 'There is no such thing.',
  409: 'It conflicts with what is there.',
  412: 'It was changed since the version in If-Match.',
  413: 'The body is too large.',
  415: 'The body has another Content-Type than documented, or a Content-Encoding.',
  428: 'If-Match is missing.',
  429: 'Too many requests, or too many failed keys.',
  503: 'The store cannot be used now; try again after Retry-After.',
} as const

type ProblemStatus = keyof typeof PROBLEMS

/** A JSON answer for a route's `responses`. */
export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

/**
 * An answer that a route describes and whose types do not know it: they know JSON values only, not texts, files, or
 * 304. The handler sees to it that it is what the schema of the route says.
 */
export function described(answer: Response): never {
  // a handler may return it as any type that its route wants; it is sent as it is
  return answer as never
}

/** The answer to a request whose JSON is written already. */
export function jsonText(c: Context, text: string | Uint8Array<ArrayBuffer>): never {
  return described(c.body(text, 200, { 'content-type': 'application/json' }))
}

/** The answer to a request whose text or file is written while it is sent. */
export function streamed(c: Context, content: ReadableStream, headers: Record<string, string>): never {
  c.set('isStreamed', true)
  const isHead = c.req.method === 'HEAD'
  // nobody would read it
  if (isHead) void content.cancel()
  return described(isHead ? c.body(null, 200, headers) : c.body(content, 200, headers))
}

/** Error answers for a route's `responses`; 401, 429 and 503 are everywhere. */
export function problems<Status extends ProblemStatus>(...statuses: Status[]) {
  const all: ProblemStatus[] = [401, 429, 503, ...statuses]
  return Object.fromEntries(all.map((status) => [status, { description: PROBLEMS[status], content: problem }])) as {
    [S in Status | 401 | 429 | 503]: { description: string; content: typeof problem }
  }
}

/** The `responses` of a route: 200 with JSON, or an error of these statuses. */
export function answers<Schema extends z.ZodType, Status extends ProblemStatus>(
  schema: Schema,
  description: string,
  ...statuses: Status[]
) {
  return { 200: json(schema, description), ...problems(...statuses) }
}

/** A JSON body for a route's `request`. */
export function body<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { 'application/json': { schema } } }
}

/** A body that may be left out: then it is as if it were an empty object. Comes with `jsonBodyOrNone`. */
export function bodyOrNone<Schema extends z.ZodType>(schema: Schema) {
  return { ...body(schema), required: false }
}
