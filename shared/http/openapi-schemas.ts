import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

/** JSON Schema, draft 2020-12, as used by OpenAPI 3.1. */
export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  properties?: Record<string, JsonSchema>
  patternProperties?: Record<string, JsonSchema>
  propertyNames?: JsonSchema
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  items?: JsonSchema | false
  prefixItems?: JsonSchema[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  [keyword: string]: unknown
}

/** Converts zod schemas to JSON Schemas; `.meta({ id })` makes one a component of that name, other keys are copied. */
export class SchemaComponents {
  readonly schemas: Record<string, JsonSchema> = {}
  readonly #converted = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() }

  /** `input` is sent by the caller, `output` is received; they differ if a schema has defaults or transforms. */
  convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const known = this.#converted[io].get(schema)
    if (known !== undefined) return known
    const made = this.#convert(schema, io)
    this.#converted[io].set(schema, made)
    return made
  }

  #convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    // within an array, so that a schema with an id becomes a reference as well
    const converted = z.toJSONSchema(z.array(schema), {
      io,
      target: 'draft-2020-12',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => finish(zodSchema, jsonSchema, io),
    })
    const text = JSON.stringify(converted).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')
    const { items, $defs = {} }: { items: JsonSchema; $defs?: Record<string, JsonSchema> } = JSON.parse(text)
    for (const [id, { id: _, ...component }] of Object.entries($defs)) {
      if (!isDeepStrictEqual(this.schemas[id] ?? component, component)) {
        throw new Error(`${id} is the name of two schemas, or of one with different forms in requests and responses`)
      }
      this.schemas[id] = component
    }
    return items
  }
}

function finish(zodSchema: z.core.$ZodTypes, json: z.core.JSONSchema.BaseSchema, io: 'input' | 'output'): void {
  const { def } = zodSchema._zod
  // any version may add fields to responses, so generated code must not reject them
  if (def.type === 'object' && def.catchall === undefined) delete json.additionalProperties
  // zod omits a default if the input is transformed, but callers need to know it
  if (def.type === 'default') json.default ??= def.defaultValue
  // the range of safe integers is enforced in requests; in responses it has no meaning
  if (io === 'output' && json.minimum === Number.MIN_SAFE_INTEGER) {
    delete json.minimum
    if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
  }
  // a type from `.meta` replaces the text forms that are accepted as well
  if (json.anyOf !== undefined && json.type !== undefined) delete json.anyOf
  // every property name is a string
  if (def.type === 'record' && def.keyType._zod.def.type === 'string' && isBareString(json.propertyNames)) {
    delete json.propertyNames
  }
  // required names of a record must be defined
  const { additionalProperties } = json
  if (def.type === 'record' && json.required !== undefined && additionalProperties !== undefined) {
    json.properties = Object.fromEntries(json.required.map((name) => [name, additionalProperties]))
  }
  if (json.example !== undefined) {
    json.examples = [json.example]
    delete json.example
  }
}

function isBareString(schema: unknown): boolean {
  return JSON.stringify(schema) === '{"type":"string"}'
}
