import type { Parameter } from '#shared/http/openapi.ts'
import { sampleOf } from '#shared/http/openapi-sample.ts'
import type { JsonSchema } from '#shared/http/openapi-schemas.ts'

type Schemas = Readonly<Record<string, JsonSchema>>

/** Maximum length of a request line. */
const CHARACTERS = 15_000
const CHOICES = ['x', '9', '%20', '%CC%81', '-', '.', '%F0%9F%9B%92', '0:', '1,'] as const

const HOURS = [1, 24, 31 * 24, 366 * 24, 3653 * 24, 130 * 366 * 24]

/** The queries of an operation that ask for most, and those that are longest. */
export function* largestQueries(parameters: readonly Parameter[], schemas: Schemas): Generator<string> {
  const given = parameters.filter((one) => one.in === 'query')
  const required = given.filter((one) => one.required)
  const base = required.map(({ name, schema }) => pair(name, sampleOf(schema, schemas)))
  yield joined(base)
  yield* widest(given, schemas)
  for (const part of [(i: number) => `attr_${i}=1`, (i: number) => `p${i}[]=`, (i: number) => `${i}`, () => '[=&'])
    yield joined([...base, filled(part, '&', CHARACTERS)])
  // all of them together, and each unrestricted one among valid others
  const free = given.filter(({ schema: { enum: choices, format, type } }) => !choices && !format && type !== 'integer')
  for (const text of CHOICES) {
    yield joined(given.map(({ name }) => `${key(name)}=${filled(() => text, '', CHARACTERS / given.length)}`))
    for (const { name } of free) {
      const others = required.filter((one) => one.name !== name)
      yield joined([
        ...others.map((one) => pair(one.name, sampleOf(one.schema, schemas))),
        `${key(name)}=${filled(() => text, '', CHARACTERS)}`,
      ])
    }
  }
  for (const { name } of given) {
    yield joined([...base, filled((i) => `${key(name)}=${i}`, '&', CHARACTERS)])
    yield joined([...base, `${key(name)}=${filled((i) => `d${i}`, ',', CHARACTERS)}`])
  }
}

/** Each range of time with every number as small, and as large, as it may be, and with lists as long. */
function* widest(given: readonly Parameter[], schemas: Schemas): Generator<string> {
  const ranges = given.some(({ name }) => name === 'from') ? HOURS : [0]
  for (const hours of ranges)
    for (const bound of ['minimum', 'maximum'] as const)
      for (const choice of [0, -1])
        yield joined(given.flatMap((one) => wishedOf(one, { hours, bound, choice, schemas })))
}

interface Wish {
  hours: number
  bound: 'minimum' | 'maximum'
  choice: number
  schemas: Schemas
}

function wishedOf({ name, schema, required }: Parameter, { hours, bound, choice, schemas }: Wish): string[] {
  const from = Date.UTC(2026, 4, 1) - (hours > 366 * 240 ? 70 * 366 * 86_400_000 : 0)
  if (name === 'from') return [pair(name, new Date(from).toISOString())]
  if (name === 'to') return [pair(name, new Date(from + hours * 3_600_000).toISOString())]
  if (schema.enum !== undefined) return [pair(name, schema.enum.at(choice))]
  if (schema.type === 'integer' || schema.type === 'number') {
    const value = schema[bound] ?? (bound === 'minimum' ? 0 : 1e15)
    return [pair(name, value)]
  }
  if (schema.type === 'array' && schema.items) {
    if (!required && bound === 'minimum') return []
    return [filled((i) => `${key(name)}=d${i}`, '&', 2_000)]
  }
  return required || schema.format !== undefined ? [pair(name, sampleOf(schema, schemas))] : []
}

function pair(name: string, value: unknown): string {
  return `${key(name)}=${encodeURIComponent(String(value))}`
}

function key(name: string): string {
  return encodeURIComponent(name.replace('*', 'x'))
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('&')
}

function filled(part: (i: number) => string, between: string, characters: number): string {
  let text = part(0)
  for (let i = 1; text.length < characters; i++) text += between + part(i)
  return text
}
