import { type ObjectSchema, validate } from '#shared/wire/schema/object-schema.ts'

/** Keys and their values, of one layer or of several merged. */
export type ConfigLayer = Readonly<Record<string, unknown>>

/** Limit of a layer as JSON, in bytes of UTF-8. */
export const LAYER_BYTES_MAX = 8192

/** Layers of a device, from the least to the most specific. */
export interface DeviceLayers {
  type: ConfigLayer
  group: ConfigLayer
  device: ConfigLayer
  /** Temporary layer of its cart. */
  cart?: ConfigLayer
}

/** Returns a layer as stored: without keys that are null, so that the less specific layers apply. */
export function withoutNulls(given: ConfigLayer): ConfigLayer {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

/** Merges layers: the most specific one gives a key's whole value. Sorted keys: equal settings give equal JSON. */
export function mergeLayers({ type, group, device, cart }: DeviceLayers): ConfigLayer {
  const merged = { ...type, ...group, ...device, ...cart }
  return Object.fromEntries(Object.entries(merged).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function isLayerTooLarge(layer: ConfigLayer): boolean {
  return Buffer.byteLength(JSON.stringify(layer)) > LAYER_BYTES_MAX
}

/** Returns the validation errors of a layer by the schema of its type, and the keys that the schema does not know. */
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
