import { type ObjectSchema, validate } from '#shared/wire/schema/object-schema.ts'

/** Keys and their values, of one layer or of several merged. */
export type ConfigLayer = Readonly<Record<string, unknown>>

/** Of a layer as JSON, in UTF-8. */
export const LAYER_BYTES_MAX = 8192

/** The layers of a device, from the least to the most specific. */
export interface DeviceLayers {
  type: ConfigLayer
  group: ConfigLayer
  device: ConfigLayer
  /** What its cart may do for a time. */
  cart?: ConfigLayer
}

/** A layer as it is kept: a key that is null is not in it, and the less specific layers show through. */
export function withoutNulls(given: ConfigLayer): ConfigLayer {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

/**
 * What a device is to be set to: of a key, the value of the most specific layer that has it, whole. Keys are sorted, so
 * that the same settings are the same JSON.
 */
export function mergeLayers({ type, group, device, cart }: DeviceLayers): ConfigLayer {
  const merged = { ...type, ...group, ...device, ...cart }
  return Object.fromEntries(Object.entries(merged).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function isLayerTooLarge(layer: ConfigLayer): boolean {
  return Buffer.byteLength(JSON.stringify(layer)) > LAYER_BYTES_MAX
}

/** What is wrong with a layer by the schema of its type, and which of its keys the schema does not know. */
export function checkLayer(
  schema: ObjectSchema,
  layer: ConfigLayer,
): { wrong: { name: string; detail: string }[]; unknown: string[] } {
  const found = validate(schema, layer)
  return {
    wrong: found.filter(({ kind }) => kind === 'wrong'),
    unknown: found.filter(({ kind }) => kind === 'unknown').map(({ name }) => name),
  }
}
