/** Configuration layer: settings by key. */
export type Layer = Readonly<Record<string, unknown>>

export const LAYER_NAMES = ['type', 'group', 'device'] as const
export type LayerName = (typeof LAYER_NAMES)[number]

export type Layers = Readonly<Record<LayerName, Layer>>

/** Setting in all layers; `wins` is the layer with the effective value, null if no layer has one. */
export interface LayerRow {
  key: string
  values: Readonly<Record<LayerName, unknown>>
  wins: LayerName | null
}

/** Returns all settings of the layers and the type, by key. */
export function layerRows(layers: Layers, known: readonly string[]): LayerRow[] {
  const keys = new Set([...known, ...LAYER_NAMES.flatMap((name) => Object.keys(layers[name]))])
  return [...keys].sort().map((key) => ({
    key,
    values: { type: layers.type[key], group: layers.group[key], device: layers.device[key] },
    wins: LAYER_NAMES.findLast((name) => Object.hasOwn(layers[name], key)) ?? null,
  }))
}

/** Rule for the value of a setting, as far as a form needs it. */
export interface SettingRule {
  type: 'boolean' | 'integer' | 'number' | 'string'
  enum?: readonly (string | number | boolean)[] | undefined
}

/** Returns the values to choose from; undefined for a typed value. */
export function choicesOf(rule: SettingRule): readonly (string | number | boolean)[] | undefined {
  return rule.enum ?? (rule.type === 'boolean' ? [true, false] : undefined)
}

/** Formats a layer's value for a field; an empty field means no value. */
export function toField(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Converts the field to the type of the setting. Unfit text is sent unchanged; the gateway then reports the error. */
export function fromField(text: string, rule: SettingRule): unknown {
  if (text === '') return undefined
  const chosen = choicesOf(rule)?.find((choice) => String(choice) === text)
  if (chosen !== undefined) return chosen
  const number = Number(text.replace(',', '.'))
  return rule.type === 'string' || Number.isNaN(number) ? text : number
}
