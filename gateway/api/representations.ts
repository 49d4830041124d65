import type { Context, MiddlewareHandler } from 'hono'
import { AppError } from '#shared/errors.ts'
import { namesTag } from '#shared/http/etags.ts'
import { described } from '#shared/http/responses.ts'
import { hashSecret } from '#shared/ids.ts'
import type { ApiEnv } from './api-env.ts'

/** Text of a response, and the tag that identifies it. */
export interface Representation {
  text: string
  etag: string
}

/** Response texts of a resource that is requested often and changes seldom; each version is serialised once. */
export class Representations<Source extends { version: number }> {
  readonly #toJson: (source: Source) => unknown
  readonly #made = new WeakMap<Source, Representation>()

  /** `toJson` returns a value to serialise, or text that is JSON already. */
  constructor(toJson: (source: Source) => unknown) {
    this.#toJson = toJson
  }

  of(source: Source): Representation {
    let known = this.#made.get(source)
    if (known === undefined) {
      const json = this.#toJson(source)
      const text = typeof json === 'string' ? json : JSON.stringify(json)
      // the version alone is not enough: after a restore it may belong to a different content
      known = { text, etag: `"${source.version}-${hashSecret(text).slice(0, 16)}"` }
      this.#made.set(source, known)
    }
    return known
  }
}

/** Responds with the text, or with 304 to a caller that has it; for a route whose schema describes the text. */
export function answerTagged(c: Context<ApiEnv>, { text, etag }: Representation): never {
  c.header('etag', etag)
  c.header('cache-control', 'private, no-cache')
  if (namesTag(c.req.header('if-none-match'), etag)) return described(c.body(null, 304))
  c.header('content-type', 'application/json')
  return described(c.body(text, 200))
}

/** Rejects a change without If-Match, which names the version that it was made to. Source: RFC 6585, 3. */
export const requireIfMatch: MiddlewareHandler<ApiEnv> = async (c, next) => {
  if (c.req.header('if-match') === undefined)
    throw new AppError(
      'precondition_required',
      'precondition_required',
      'send the ETag of the changed resource as If-Match, or *',
    )
  await next()
}
