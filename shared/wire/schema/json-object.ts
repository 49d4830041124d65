import { z } from 'zod'

/** JSON object with any content, except `__proto__` as a key: a later reader may treat it as more than a name. */
export const jsonObjectSchema = z.preprocess(
  (value, ctx) => {
    // zod would silently drop the key
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '__proto__')) return value
    ctx.addIssue({ code: 'custom', path: ['__proto__'], message: 'is not permitted as a key' })
    return z.NEVER
  },
  z.record(z.string(), z.unknown()),
)
