import { z } from 'zod'

const DIFFERENT_CHARACTERS = 8

/** A setting that is a whole number, as text of digits only: an empty variable must not become 0, which often means "no limit". */
export function count(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
    z.number({ error }).int({ error }).min(min, { error }).max(max, { error }),
  )
}

/** A setting that is a key somebody chose. */
export function chosenKey(minLength: number) {
  return z
    .string()
    .min(minLength, { abort: true })
    .refine((key) => weakKeyFault(key) === undefined, {
      // it is a text: it has a length
      error: ({ input }) => weakKeyFault(String(input)) ?? 'is too weak',
    })
}

/** A setting as `--help` and `/docs` list it: its name in the environment, what it is without one, and what it does. */
export interface Setting {
  name: string
  defaultValue: string
  help: string
}

/** Its default is `none` when it has none. */
export function describeSetting(
  name: string,
  { schema, help }: { schema: z.ZodType; help: string },
): Setting {
  const { success, data } = schema.safeParse(undefined)
  return { name, defaultValue: String(success ? (data ?? 'none') : 'none'), help }
}

/** What is wrong with a setting, in words that follow its name; of a rule that has words of its own those count. */
export function settingFault(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'number' ? 'must be a number' : 'must be a text'
    case 'too_small':
      return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} characters`
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' or ')}`
    default:
      return 'cannot be used, see --help'
  }
}

const PREFIX = 'CARTBARN_'

/** A setting that is not among `names` (without their prefix), as it was written, with the one that was probably meant. */
export function unknownSettingFault(written: string, names: readonly string[]): string {
  const shown = /^cartbarn_/i.test(written) ? written : PREFIX + written
  const bare = lettersOf(shown)
  const [nearest] = names
    .map((name) => ({ name, edits: editsBetween(bare, lettersOf(PREFIX + name)) }))
    .toSorted((a, b) => a.edits - b.edits)
  const isNear = nearest !== undefined && nearest.edits <= MOST_EDITS
  return `${shown} is no setting of this program${isNear ? `; did you mean ${PREFIX}${nearest.name}?` : ''}`
}

/** A word with more wrong letters was meant as something else. */
const MOST_EDITS = 3

const lettersOf = (name: string) => name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

/** How many letters to insert, delete or replace to make one word of the other (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let last = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (const [j, wanted] of [...to].entries())
      next.push(
        Math.min((next[j] ?? 0) + 1, (last[j + 1] ?? 0) + 1, (last[j] ?? 0) + (letter === wanted ? 0 : 1)),
      )
    last = next
  }
  return last.at(-1) ?? 0
}

/** What makes a key that somebody chose easy to guess, in words that follow the name of a setting; undefined if nothing does. */
export function weakKeyFault(key: string): string | undefined {
  if (new Set(key).size < DIFFERENT_CHARACTERS)
    return `must have at least ${DIFFERENT_CHARACTERS} different characters`
  for (let length = 1; length <= key.length / 2; length++)
    if (key.startsWith(key.slice(length))) return 'must not be a short text that is repeated'
  return undefined
}
