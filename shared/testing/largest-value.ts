import { resolveSchema, sampleOf } from '#shared/http/openapi-sample.ts'
import type { JsonSchema } from '#shared/http/openapi-schemas.ts'

type Schemas = Readonly<Record<string, JsonSchema>>

/** Items of a list and keys of an object for which a schema names no limit, at first. */
const MANY = 100_000

/** JSON of the largest value that a schema allows, of at most so many bytes where that is possible. */
export function largestOf(schema: JsonSchema, schemas: Schemas, bytes: number): string {
  let json = ''
  for (let many = MANY; many >= 1; many = Math.floor(many / 2)) {
    json = JSON.stringify(largest(schema, schemas, { many, place: 0 })) ?? 'null'
    if (Buffer.byteLength(json) <= bytes) break
  }
  return json
}

/** `place` distinguishes items of a list: many lists forbid duplicates. */
interface Bounds {
  many: number
  place: number
}

function largest(given: JsonSchema, schemas: Schemas, bounds: Bounds): unknown {
  const schema = resolveSchema(given, schemas)
  if (schema.const !== undefined || schema.enum !== undefined) return sampleOf(schema, schemas)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined && choices.length > 0) {
    const made = choices.map((choice) => largest(choice, schemas, bounds))
    return made.reduce((a, b) => (JSON.stringify(b).length > JSON.stringify(a).length ? b : a))
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'array') return largestList(schema, schemas, bounds)
  if (type === 'object') return largestObject(schema, schemas, bounds)
  if (type === 'string') return largestText(schema, schemas, bounds)
  if (type !== 'integer' && type !== 'number') return sampleOf(schema, schemas)
  const least = Number(schema.minimum ?? 1)
  const most = Number(schema.maximum ?? Number.MAX_SAFE_INTEGER)
  return bounds.place === 0 ? most : Math.min(most, least + bounds.place)
}

function largestList(schema: JsonSchema, schemas: Schemas, bounds: Bounds): unknown[] {
  const fixed = schema.prefixItems?.map((item) => largest(item, schemas, bounds)) ?? []
  const { items } = schema
  if (items === undefined || items === false || fixed.length > 0) return fixed
  const length = Math.min(Number(schema.maxItems ?? bounds.many), bounds.many)
  return Array.from({ length }, (_, i) =>
    largest(items, schemas, { many: Math.min(10, bounds.many), place: bounds.place * length + i }),
  )
}

function largestObject(schema: JsonSchema, schemas: Schemas, bounds: Bounds): object {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, largest(field, schemas, bounds)])
  const { additionalProperties: others } = schema
  const length = typeof others === 'object' ? Math.min(Number(schema.maxProperties ?? bounds.many), bounds.many) : 0
  const keys = Array.from({ length }, (_, i) => [
    `k${i}`,
    typeof others === 'object' ? largest(others, schemas, { many: 1, place: i }) : null,
  ])
  return Object.fromEntries([...keys, ...fields])
}

function largestText(schema: JsonSchema, schemas: Schemas, { many, place }: Bounds): unknown {
  const isFree = schema.pattern === undefined && schema.format === undefined
  if (!isFree) return sampleOf(schema, schemas)
  return `${place} `.padEnd(Math.min(Number(schema.maxLength ?? many), many), 'x')
}
