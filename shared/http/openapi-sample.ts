import type { JsonSchema } from './openapi-schemas.ts'

type Schemas = Readonly<Record<string, JsonSchema>>

/** Returns the schema itself, or the component that it references. */
export function resolveSchema(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (schemas[name] ?? {})
}

/** Returns a valid value: the example if there is one, else the simplest. */
export function sampleOf(given: JsonSchema, schemas: Schemas): unknown {
  const schema = resolveSchema(given, schemas)
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.default !== undefined) return schema.default
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined) return sampleOf(choice, schemas)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object') {
    const fields = Object.entries(schema.properties ?? {})
    return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(field, schemas)]))
  }
  if (type === 'array') {
    if (schema.prefixItems !== undefined) return schema.prefixItems.map((item) => sampleOf(item, schemas))
    return schema.items ? [sampleOf(schema.items, schemas)] : []
  }
  if (type === 'integer' || type === 'number') return Math.max(Number(schema.minimum ?? 1), 1)
  return type === 'boolean' ? true : 'x'.repeat(Number(schema.minLength ?? 1))
}
