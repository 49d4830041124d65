import { html } from 'hono/html'
import { resolveSchema } from '../openapi-sample.ts'
import type { JsonSchema } from '../openapi-schemas.ts'
import { type Html, table } from './html.ts'

type Schemas = Readonly<Record<string, JsonSchema>>

/** Renders the fields of an object, including those of nested objects up to a component with a section of its own. */
export function renderFields(given: JsonSchema, schemas: Schemas): Html {
  const rows = [...fieldRows(resolveSchema(given, schemas), '')]
  return rows.length === 0 ? html`` : table(['Field', 'Type', 'Description'], rows)
}

function* fieldRows(schema: JsonSchema, prefix: string): Generator<Html> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name) ?? false
    yield html`<tr>
      <th scope="row"><code>${prefix}${name}</code>${isRequired ? '' : html` <small>optional</small>`}</th>
      <td>${typeOf(field)}</td>
      <td>${explanationOf(field)}</td>
    </tr>`
    yield* fieldRows(innerOf(field), `${prefix}${name}${field.type === 'array' ? '[]' : ''}.`)
  }
  for (const variant of [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]) yield* fieldRows(variant, prefix)
}

function innerOf(field: JsonSchema): JsonSchema {
  return field.type === 'array' && field.items ? field.items : field
}

/** Returns the name of a type, with links to components. */
export function typeOf(schema: JsonSchema): Html {
  const { $ref, anyOf, oneOf, type, items, format, const: constant, additionalProperties } = schema
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  const variants = anyOf ?? oneOf
  if (variants !== undefined) return html`${variants.map((one, i) => html`${i > 0 ? ' or ' : ''}${typeOf(one)}`)}`
  if (constant !== undefined) return html`<code>${JSON.stringify(constant)}</code>`
  if (type === 'array') return items ? html`array of ${typeOf(items)}` : html`array`
  if (type === 'object' && typeof additionalProperties === 'object' && schema.properties === undefined) {
    return html`object of ${typeOf(additionalProperties)}`
  }
  const words = type === undefined ? 'any' : [type].flat().join(' or ')
  return html`${words}${format === undefined ? '' : ` (${format})`}`
}

/** Returns the description, range, default and example of a value. */
export function explanationOf(schema: JsonSchema, description = schema.description): Html {
  const examples = schema.examples ?? schema.anyOf?.flatMap((one) => one.examples ?? []) ?? []
  const [example] = examples
  const limits = [...limitsOf(schema), ...(schema.anyOf ?? []).flatMap((one) => [...limitsOf(one)])]
  const words = description ?? schema.anyOf?.find((one) => one.description !== undefined)?.description
  return html`${words}${limits.map((limit) => html` <span class="limit">${limit}</span>`)}${
    example === undefined ? '' : html` <span class="example">e.g. <code>${JSON.stringify(example)}</code></span>`
  }`
}

function* limitsOf(schema: JsonSchema): Generator<string> {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, default: fallback } = schema
  if (schema.enum !== undefined) yield `one of ${schema.enum.join(', ')}`
  yield* range(minimum, maximum, '')
  yield* range(minLength, maxLength, ' characters')
  yield* range(minItems, maxItems, ' items')
  if (pattern !== undefined) yield `matches ${pattern}`
  if (fallback !== undefined) yield `default ${JSON.stringify(fallback)}`
}

function* range(min: unknown, max: unknown, unit: string): Generator<string> {
  if (min !== undefined && max !== undefined) yield `${min} to ${max}${unit}`
  else if (min !== undefined) yield `${min} or more${unit}`
  else if (max !== undefined) yield `up to ${max}${unit}`
}
