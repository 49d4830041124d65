import type { JsonSchema } from '#shared/http/openapi-schemas.ts'

/** Keywords that change a type, but that no schema of the API uses yet. */
const UNTRANSLATED = ['not', 'if', 'dependentSchemas', 'unevaluatedProperties']

/** Returns the TypeScript type of a JSON Schema; a reference is the name of its component. */
export function schemaType(schema: JsonSchema): string {
  const unknown = UNTRANSLATED.find((keyword) => keyword in schema)
  if (unknown !== undefined) throw new Error(`no TypeScript type is written for the keyword ${unknown}`)
  // parts without a type only narrow the values of one kind, which the server checks
  if (schema.allOf?.some((part) => 'type' in part || '$ref' in part))
    throw new Error('no TypeScript type is written for the keyword allOf')
  if (schema.$ref !== undefined) return componentName(schema.$ref)
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)))
  const options = schema.anyOf ?? schema.oneOf
  if (options !== undefined) return union(options.map(schemaType))
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => schemaType({ ...schema, type })))
  switch (schema.type) {
    case 'object':
      return objectType(schema)
    case 'array':
      return arrayType(schema)
    case 'integer':
      return 'number'
    default:
      return schema.type ?? 'unknown'
  }
}

/** Returns an object type of formatted fields, each after its description. */
export function fieldsType(fields: readonly string[]): string {
  return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n}`
}

/** Returns a field of an object type; an optional one may also be undefined. */
export function field(name: string, type: string, isRequired: boolean, description?: string): string {
  return (
    `${comment(description)}${JSON.stringify(name)}${isRequired ? '' : '?'}: ` +
    `${type}${isRequired ? '' : ' | undefined'}`
  )
}

export function comment(description: string | undefined): string {
  return description === undefined ? '' : `/** ${description.replaceAll('*/', '*\\/').replaceAll('\n', '\n * ')} */\n`
}

function componentName(reference: string): string {
  return reference.split('/').at(-1) ?? reference
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

function arrayType({ prefixItems, items }: JsonSchema): string {
  const rest = items === undefined || items === false ? undefined : schemaType(items)
  if (prefixItems === undefined) return `(${rest ?? 'unknown'})[]`
  return `[${[...prefixItems.map(schemaType), ...(rest === undefined ? [] : [`...(${rest})[]`])].join(', ')}]`
}

function objectType({ properties = {}, required = [], additionalProperties, propertyNames }: JsonSchema): string {
  const fields = Object.entries(properties).map(([name, schema]) =>
    field(name, schemaType(schema), required.includes(name), schema.description),
  )
  if (additionalProperties === undefined || additionalProperties === false) return fieldsType(fields)
  const value = additionalProperties === true ? 'unknown' : schemaType(additionalProperties)
  const key = propertyNames === undefined ? 'string' : schemaType(propertyNames)
  const record =
    key === 'string' || required.length > 0 ? `Record<${key}, ${value}>` : `Partial<Record<${key}, ${value}>>`
  return fields.length === 0 ? record : `${fieldsType(fields)} & ${record}`
}
