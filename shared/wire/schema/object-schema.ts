import { z } from 'zod'

const scalarSchema = z.union([z.string(), z.number(), z.boolean()])

function isOfType(type: string, value: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeof value === type
}

const propertySchema = z
  .strictObject({
    type: z.enum(['boolean', 'integer', 'number', 'string']),
    title: z.string().max(200).optional(),
    description: z.string().max(500).optional(),
    default: scalarSchema.optional(),
    enum: z.array(scalarSchema).min(1).max(100).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().int().min(0).optional(),
    maxLength: z.number().int().min(0).optional(),
  })
  .superRefine(({ type, enum: choices = [], default: preset }, ctx) => {
    // JSON Schema checks both, but zod's reader ignores the type if there are choices
    if (!choices.every((choice) => isOfType(type, choice)))
      ctx.addIssue({ code: 'custom', path: ['enum'], message: `must be values of type ${type}` })
    if (preset !== undefined && !isOfType(type, preset))
      ctx.addIssue({ code: 'custom', path: ['default'], message: `must be of type ${type}` })
  })

/**
 * JSON Schema of a flat object: the subset that describes configuration and commands of a device type. Keywords without
 * a check are rejected, so that it promises no more than is enforced. Source: json-schema.org, draft 2020-12.
 */
export const objectSchemaSchema = z.strictObject({
  type: z.literal('object'),
  properties: z
    .record(z.string().regex(/^[A-Za-z0-9_]{1,64}$/, 'must be 1 to 64 letters, digits and underscores'), propertySchema)
    .refine((properties) => Object.keys(properties).length <= 100, 'has at most 100 properties'),
  required: z.array(z.string()).max(100).optional(),
})

export type ObjectSchema = z.infer<typeof objectSchemaSchema>

/** Invalid value; `name` is its key. */
export interface ValidationError {
  name: string
  kind: 'unknown' | 'missing' | 'wrong'
  detail: string
}

/** Validates a value; keys that the schema does not name are errors of kind `unknown`. Never throws. */
export function validate(schema: ObjectSchema, value: Record<string, unknown>): ValidationError[] {
  const found: ValidationError[] = []
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) found.push({ name, kind: 'missing', detail: 'is required' })
  }
  for (const [name, given] of Object.entries(value)) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (property === undefined) found.push({ name, kind: 'unknown', detail: 'is not in the schema' })
    else if (!checkOf(property).safeParse(given).success)
      found.push({ name, kind: 'wrong', detail: `must be ${describe(property)}` })
  }
  return found
}

type Property = z.infer<typeof propertySchema>

function checkOf(property: Property): z.ZodType {
  // zod omits absent fields, so no value is undefined
  return z.fromJSONSchema(property as Parameters<typeof z.fromJSONSchema>[0])
}

function describe(property: Property): string {
  const { type, minimum, maximum, minLength, maxLength } = property
  if (property.enum !== undefined) return `one of: ${property.enum.join(', ')}`
  const what = type === 'integer' ? 'a whole number' : `a ${type}`
  const unit = type === 'string' ? ' characters' : ''
  const [min, max] = type === 'string' ? [minLength, maxLength] : [minimum, maximum]
  const from = min === undefined ? '' : ` from ${min}`
  const to = max === undefined ? '' : ` up to ${max}`
  return `${what}${from}${to}${from + to === '' ? '' : unit}`
}
