import { z } from 'zod'

/** A JSON object of any content. `__proto__` is no key of it: who reads it next may take it for more than a name. */
export const jsonObjectSchema = z.preprocess(
  (value, ctx) => {
    // zod would leave the key out and say nothing
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '__proto__')) return value
    ctx.addIssue({ code: 'custom', path: ['__proto__'], message: 'is no name for a key' })
    return z.NEVER
  },
  z.record(z.string(), z.unknown()),
)
