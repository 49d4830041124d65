import { type FieldError, InvalidRequestError } from './errors.ts'

export type AttributeValue = string | number | boolean

/** Parsed `attr_<name>` parameter; a device matches if its attribute equals any of `wanted`. */
export interface AttributeFilter {
  name: string
  wanted: string[]
}

const PREFIX = 'attr_'
const NAME = /^[A-Za-z0-9_]{1,64}$/

/** Reads `attr_*` parameters: names are ANDed, repeats ORed. Throws `invalid_attribute_name` with each invalid name. */
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

/** True if the latest voltage is lower than `volts`; false if the device has reported none. */
export function isBatteryBelow(attributes: Record<string, AttributeValue>, volts: number): boolean {
  const { battery_voltage: voltage } = attributes
  return typeof voltage === 'number' && voltage < volts
}

/** Compares numbers by value (12.40 is 12.4), 0 and false, 1 and true as equal; strings must match exactly. */
function equalsText(value: AttributeValue, text: string): boolean {
  if (typeof value === 'string') return value === text
  const wanted = text === 'true' ? 1 : text === 'false' ? 0 : text.trim() === '' ? Number.NaN : Number(text)
  return Number(value) === wanted
}

/** Matches devices by name, hardware_id and short_id, like `textSearch`. */
export function deviceSearch(
  search: string,
): (device: { name: string | null; hardwareId: string; shortId: string }) => boolean {
  const matches = textSearch(search)
  return ({ name, hardwareId, shortId }) => matches(hardwareId) || matches(shortId) || (name !== null && matches(name))
}

/** Returns a case-insensitive substring match; the search text is literal, an empty one matches everything. */
export function textSearch(search: string): (text: string) => boolean {
  const part = foldCase(search.trim())
  return (text) => part === '' || foldCase(text).includes(part)
}

// Lower before upper: folds ß and ss together, and σ and ς, which toLowerCase distinguishes by their context.
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase()
}
