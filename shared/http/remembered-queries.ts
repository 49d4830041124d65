import type { Context } from 'hono'
import type { z } from 'zod'
import { throwValidationError } from './api-env.ts'

/** Number of cached queries, and the maximum length of one. */
const MAX_COUNT = 100
const MAX_LENGTH = 1000

/** Caches validated queries, which programs repeat. The same text returns the same object; it must not be modified. */
export class RememberedQueries<Query extends object> {
  readonly #schema: z.ZodType<Query>
  readonly #known = new Map<string, Query>()

  constructor(schema: z.ZodType<Query>) {
    this.#schema = schema
  }

  /** Throws the error of the validator. */
  of(c: Context): Query {
    const { url } = c.req
    const text = url.slice(url.indexOf('?') + 1 || url.length)
    return this.#known.get(text) ?? this.#check(c, text)
  }

  #check(c: Context, text: string): Query {
    const sent = Object.entries(c.req.queries()).map(([name, values]) => {
      return [name, values.length === 1 ? values[0] : values] as const
    })
    const data = Object.fromEntries(sent)
    const parsed = this.#schema.safeParse(data)
    if (!parsed.success) throw throwValidationError({ target: 'query', error: parsed.error, data })
    if (this.#known.size >= MAX_COUNT) this.#known.clear()
    if (text.length <= MAX_LENGTH) this.#known.set(text, parsed.data)
    return parsed.data
  }
}
