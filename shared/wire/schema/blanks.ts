import { z } from 'zod'

const pathSchema = z.array(z.union([z.string(), z.number().int()])).max(100)

const blankedEventSchema = z.object({
  event_id: z.string().min(1).max(128),
  /** Its code is null since. */
  code: z.boolean(),
  /** Where in its metadata strings are empty since. */
  metadata: z.array(pathSchema),
})
export type BlankedEvent = z.infer<typeof blankedEventSchema>

/** What an erasure took out of lock events: where it was, not what it was. */
export const blankSchema = z.object({ lock_events: z.array(blankedEventSchema) })

type Path = z.infer<typeof pathSchema>

/** Whether a value is what another was, but for strings that are empty now. */
export function isBlanked(before: unknown, now: unknown): boolean {
  if (typeof before === 'string') return now === before || now === ''
  if (typeof before !== 'object' || before === null) return now === before
  if (typeof now !== 'object' || now === null || Array.isArray(before) !== Array.isArray(now)) return false
  const [old, kept] = [Object.entries(before), Object.entries(now)]
  return (
    old.length === kept.length &&
    old.every(([key, value], i) => kept[i]?.[0] === key && isBlanked(value, kept[i]?.[1]))
  )
}

/** The value with each string that `isBlanked` empty, and where those are. Other values are handed on as they are. */
export function blankStrings(
  value: unknown,
  isBlanked: (text: string, path: Path) => boolean,
  path: Path = [],
): { value: unknown; paths: Path[] } {
  if (typeof value === 'string')
    return isBlanked(value, path) ? { value: '', paths: [path] } : { value, paths: [] }
  if (typeof value !== 'object' || value === null) return { value, paths: [] }
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value)
  const blanked = entries.map(
    ([key, nested]) => [key, blankStrings(nested, isBlanked, [...path, key])] as const,
  )
  const paths = blanked.flatMap(([, nested]) => nested.paths)
  const values = blanked.map(([key, nested]) => [key, nested.value] as const)
  return { value: Array.isArray(value) ? values.map(([, one]) => one) : Object.fromEntries(values), paths }
}
