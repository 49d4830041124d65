/** A layer of configuration: settings by key. */
export type Layer = Readonly<Record<string, unknown>>

export const LAYER_NAMES = ['type', 'group', 'device'] as const
export type LayerName = (typeof LAYER_NAMES)[number]

export type Layers = Readonly<Record<LayerName, Layer>>

/** One setting in all layers; `wins` is the layer whose value holds, null where none has it. */
export interface LayerRow {
  key: string
  values: Readonly<Record<LayerName, unknown>>
  wins: LayerName | null
}

/** All settings that a layer or the type knows, by key. */
export function layerRows(layers: Layers, known: readonly string[]): LayerRow[] {
  const keys = new Set([...known, ...LAYER_NAMES.flatMap((name) => Object.keys(layers[name]))])
  return [...keys].sort().map((key) => ({
    key,
    values: { type: layers.type[key], group: layers.group[key], device: layers.device[key] },
    wins: LAYER_NAMES.findLast((name) => Object.hasOwn(layers[name], key)) ?? null,
  }))
}

/** What a setting may be, as far as a form has to know. */
export interface SettingRule {
  type: 'boolean' | 'integer' | 'number' | 'string'
  enum?: readonly (string | number | boolean)[] | undefined
}

/** The values to choose from; undefined for what is typed. */
export function choicesOf(rule: SettingRule): readonly (string | number | boolean)[] | undefined {
  return rule.enum ?? (rule.type === 'boolean' ? [true, false] : undefined)
}

/** A value of a layer as a field shows it: nothing is no value. */
export function toField(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What was typed or chosen, as the type would have it; what is no such value goes to the gateway, which says why. */
export function fromField(text: string, rule: SettingRule): unknown {
  if (text === '') return undefined
  const chosen = choicesOf(rule)?.find((choice) => String(choice) === text)
  if (chosen !== undefined) return chosen
  const number = Number(text.replace(',', '.'))
  return rule.type === 'string' || Number.isNaN(number) ? text : number
}
