import { getConnInfo } from '@hono/node-server/conninfo'
import { type Hook, OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { z } from 'zod'
import { type FieldError, ForbiddenError, InvalidRequestError } from '../../shared/errors.ts'
import { fieldPath } from '../../shared/field-path.ts'
import { isAdmin } from '../domain/access.ts'
import type { User } from '../services/users.ts'

/** What a handler finds on `c.var`. */
export interface ApiEnv {
  Variables: { requestId: string; user: User }
}

/** A part of the API: routes with schemas; what does not fit them is answered with 400. */
export function createApi(): OpenAPIHono<ApiEnv> {
  return new OpenAPIHono<ApiEnv>({ strict: false, defaultHook: refuseInvalid })
}

/** A long list of the wrong kind is one mistake, not an answer larger than the request. */
const ERRORS_MAX = 100

const refuseInvalid: Hook<unknown, ApiEnv, string, unknown> = (result) => {
  if (result.success) return
  const target =
    result.target === 'json'
      ? 'body'
      : result.target === 'param'
        ? 'path'
        : result.target === 'query'
          ? 'query'
          : 'header'
  // there at run time, though not in the type
  const sent = 'data' in result ? result.data : undefined
  const errors = result.error.issues.flatMap((issue) => fieldErrors(target, issue, sent)).slice(0, ERRORS_MAX)
  const [first] = errors
  const message = errors.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
  throw new InvalidRequestError(first?.code ?? 'invalid_request', message, errors)
}

function fieldErrors(target: FieldError['in'], issue: z.core.$ZodIssue, sent: unknown): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      in: target,
      name: key,
      code: 'unknown_field',
      detail: 'is no field of this request',
    }))
  }
  const name = fieldPath(issue.path) || 'body'
  const detail = issue.message
  if (issue.code === 'custom' && typeof issue.params?.code === 'string') {
    return [{ in: target, name, code: issue.params.code, detail }]
  }
  const isMissing = issue.code === 'invalid_type' && valueAt(sent, issue.path) === undefined
  if (isMissing) {
    return [
      {
        in: target,
        name,
        code: target === 'query' ? 'missing_parameter' : 'missing_field',
        detail: 'is required',
      },
    ]
  }
  return [{ in: target, name, code: target === 'query' ? 'invalid_parameter' : 'invalid_field', detail }]
}

// zod's issues do not carry the value
function valueAt(sent: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : undefined,
    sent,
  )
}

/** Throws `admin_required`; comes before the resource is looked up. */
export function requireAdmin(user: User): void {
  if (!isAdmin(user.caller)) throw new ForbiddenError('admin_required', 'this needs the key of an admin')
}

/** The network address of the caller; requests made in a test have none. */
export function addressOf(c: Context): string {
  return c.env !== undefined && 'incoming' in c.env ? (getConnInfo(c).remote.address ?? 'unknown') : 'unknown'
}
