import { z } from 'zod'
import { ConfigError } from '#shared/errors.ts'

const DIFFERENT_CHARACTERS = 8

/** Setting with a whole number, digits only: an empty variable must not become 0, which often means "no limit". */
export function count(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
    z.number({ error }).int({ error }).min(min, { error }).max(max, { error }),
  )
}

/** Setting with a key chosen by the operator. */
export function userChosenKey(minLength: number) {
  return z
    .string()
    .min(minLength, { abort: true })
    .refine((key) => describeWeakKey(key) === undefined, {
      // a text, because it has a length
      error: ({ input }) => describeWeakKey(String(input)) ?? 'is too weak',
    })
}

/** Setting as listed by `--help` and `/docs`: its environment variable, its default (`none`: none) and its effect. */
export interface Setting {
  name: string
  defaultValue: string
  help: string
}

/** Prefix of all environment variables. */
export const PREFIX = 'CARTBARN_'

/** Setting that names a file; the content of the file becomes the setting without `_FILE`. */
export function secretFile(name: string) {
  return {
    schema: z.string().min(1).optional(),
    help: `file that holds ${PREFIX}${name}, which ps and systemctl would show`,
    part: name,
  }
}

/**
 * Settings by environment variable without prefix: validation rule with default, and effect. A setting with a `part` is
 * not a field of the configuration: code builds that part from one or more settings.
 */
type SettingRules = Readonly<Record<string, SettingRule>>

interface SettingRule {
  schema: z.ZodType
  help: string
  part?: string
}

/** Parsed values by the names of their settings. */
export type SettingValues<Rules extends SettingRules> = {
  [Name in keyof Rules]: z.output<Rules[Name]['schema']>
}

/** Fields of a configuration that equal the parsed settings: `HTTP_PORT` becomes `httpPort`. */
export type FieldsOf<Rules extends SettingRules> = {
  [Name in keyof Rules & string as Rules[Name] extends { part: string } ? never : CamelCase<Name>]: z.output<
    Rules[Name]['schema']
  >
}

type CamelCase<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>

const camelCase = (name: string) => name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** All settings of a program, each declared once. */
export class SettingTable<Rules extends SettingRules> {
  readonly #rules: readonly [name: string, SettingRule][]
  readonly #prefix: string

  constructor(rules: Rules, prefix: string) {
    this.#rules = Object.entries(rules)
    this.#prefix = prefix
  }

  /**
   * Parses settings by names without prefix. Throws a `ConfigError` with `faults` and all further faults, one per line.
   */
  parse(settings: Readonly<Record<string, unknown>>, faults: readonly string[]): SettingValues<Rules> {
    const schemas = Object.fromEntries(this.#rules.map(([name, { schema }]) => [name, schema]))
    const { data, error } = z.strictObject(schemas).safeParse(settings, { error: settingFault })
    const lines = [...faults, ...(error?.issues.map((issue) => this.#describeIssue(issue)) ?? [])]
    if (lines.length > 0) throw new ConfigError(lines.join('\n'))
    // each value was parsed by the schema of its own name
    return data as SettingValues<Rules>
  }

  fieldsOf(values: SettingValues<Rules>): FieldsOf<Rules> {
    const own = this.#rules.filter(([, { part }]) => part === undefined)
    // the same names as in the type, by the same rule
    return Object.fromEntries(own.map(([name]) => [camelCase(name), values[name]])) as FieldsOf<Rules>
  }

  /** Returns the settings as listed by `--help` and `/docs`. */
  describe(): Setting[] {
    return this.#rules.map(([name, { schema, help }]) => {
      const { success, data } = schema.safeParse(undefined)
      const defaultValue = String(success ? (data ?? 'none') : 'none')
      return { name: this.#prefix + name, defaultValue, help }
    })
  }

  #describeIssue(issue: z.core.$ZodIssue): string {
    const names = this.#rules.map(([name]) => name)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => unknownSettingFault(key, names, this.#prefix)).join('\n')
    return `${this.#prefix}${issue.path.join('.')}: ${issue.message}`
  }
}

/** Returns a line for each setting that is missing although others of its group, or `reason`, are present. */
export function missingFaults(group: Readonly<Record<string, unknown>>, reason?: string): string[] {
  const names = Object.keys(group)
  const given = names.filter((name) => group[name] !== undefined)
  if (given.length === 0 && reason === undefined) return []
  const needing = reason ?? given.map((name) => PREFIX + name).join(' and ')
  return names.filter((name) => group[name] === undefined).map((name) => `${PREFIX}${name}: is needed with ${needing}`)
}

/** Describes the fault of a setting, to follow its name; messages defined by its rule take precedence. */
function settingFault(issue: z.core.$ZodRawIssue): string {
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

/** Describes a setting not among `names` (without `prefix`), as written, with the setting that was probably meant. */
export function unknownSettingFault(written: string, names: readonly string[], prefix = PREFIX): string {
  const shown = written.toUpperCase().startsWith(prefix) ? written : prefix + written
  const bare = lettersOf(shown)
  const [nearest] = names
    .map((name) => ({ name, edits: editsBetween(bare, lettersOf(prefix + name)) }))
    .toSorted((a, b) => a.edits - b.edits)
  const isNear = nearest !== undefined && nearest.edits <= MOST_EDITS
  return `${shown} is not a setting of this program${isNear ? `; did you mean ${prefix}${nearest.name}?` : ''}`
}

/** Maximum edit distance of a suggestion. */
const MOST_EDITS = 3

const lettersOf = (name: string) => name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

/** Edit distance of two words: insertions, deletions and replacements (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let last = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (const [j, wanted] of [...to].entries())
      next.push(Math.min((next[j] ?? 0) + 1, (last[j + 1] ?? 0) + 1, (last[j] ?? 0) + (letter === wanted ? 0 : 1)))
    last = next
  }
  return last.at(-1) ?? 0
}

/** Describes why a chosen key is easy to guess, to follow the name of a setting; undefined for a strong key. */
export function describeWeakKey(key: string): string | undefined {
  if (new Set(key).size < DIFFERENT_CHARACTERS) return `must have at least ${DIFFERENT_CHARACTERS} different characters`
  for (let length = 1; length <= key.length / 2; length++)
    if (key.startsWith(key.slice(length))) return 'must not be a short text repeated'
  return undefined
}
