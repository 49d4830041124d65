import { type FieldError, InvalidRequestError } from './errors.ts'

/** What an attribute of a device can be. */
export type AttributeValue = string | number | boolean

/** One `attr_<name>` parameter; a device matches when its attribute equals any of `wanted`. */
export interface AttributeFilter {
  name: string
  wanted: string[]
}

const PREFIX = 'attr_'
const NAME = /^[A-Za-z0-9_]{1,64}$/

/**
 * Reads the `attr_*` parameters of a query. Several are ANDed, a repeated one is ORed.
 * Throws `invalid_attribute_name` with each name that can be no attribute.
 */
export function attributeFilters(query: Record<string, string | string[]>): AttributeFilter[] {
  const filters: AttributeFilter[] = []
  const errors: FieldError[] = []
  for (const [parameter, wanted] of Object.entries(query)) {
    if (!parameter.startsWith(PREFIX)) continue
    const name = parameter.slice(PREFIX.length)
    if (NAME.test(name)) filters.push({ name, wanted: [wanted].flat() })
    else
      errors.push({
        in: 'query',
        name: parameter,
        code: 'invalid_attribute_name',
        detail: 'letters, digits and _ only, 1 to 64',
      })
  }
  const [error] = errors
  if (error !== undefined) throw new InvalidRequestError(error.code, `${error.name}: ${error.detail}`, errors)
  return filters
}

export function matchesAttributes(
  attributes: Record<string, AttributeValue>,
  filters: readonly AttributeFilter[],
): boolean {
  return filters.every(({ name, wanted }) => {
    if (!Object.hasOwn(attributes, name)) return false
    const value = attributes[name]
    return value !== undefined && wanted.some((text) => equalsText(value, text))
  })
}

/** Numbers compare as numbers (12.40 is 12.4); 0 and false, 1 and true are equal; strings must be the same. */
function equalsText(value: AttributeValue, text: string): boolean {
  if (typeof value === 'string') return value === text
  const wanted = text === 'true' ? 1 : text === 'false' ? 0 : text.trim() === '' ? Number.NaN : Number(text)
  return Number(value) === wanted
}

/** Case-insensitive partial match over name, hardware_id and short_id; the text is literal, an empty one matches all. */
export function matchesSearch(
  device: { name: string | null; hardwareId: string; shortId: string },
  search: string,
): boolean {
  // most lists are asked for without
  if (search === '') return true
  return [device.name, device.hardwareId, device.shortId].some(
    (text) => text !== null && containsText(text, search),
  )
}

/** Case-insensitive partial match; the text is literal, an empty one matches all. */
export function containsText(text: string, search: string): boolean {
  return foldCase(text).includes(foldCase(search.trim()))
}

// Lower before upper: folds ß and ss alike, and σ and ς, which toLowerCase tells apart by what stands beside them.
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase()
}
