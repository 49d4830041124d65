import { useId, useState } from 'preact/hooks'
import { choicesOf, fromField, type Layer, toField } from '#dashboard/live/layers.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { ApiError } from '#shared/client.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { type LayerPlace, saveLayer, TYPE_PREFIX } from './save-layer.ts'

type Schema = NonNullable<AnswerOf<'GET /devices/{id}/config'>['schema']>
type Property = Schema['properties'][string]

interface LayerFormProps {
  place: LayerPlace
  layer: Layer
  schema: Schema | undefined
  onCancel?: (() => void) | undefined
  onSaved: () => Promise<void>
}

/** Form for one layer: a field for each setting of the type, JSON for the others. */
export function LayerForm({ place, layer, schema, onCancel, onSaved }: LayerFormProps) {
  const { api, gate } = useDashboard()
  const texts = deviceTexts()
  const properties = Object.entries(schema?.properties ?? {})
  const isKnown = (key: string) => properties.some(([name]) => name === key)
  const [fields, setFields] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(properties.map(([key]) => [key, toField(layer[key])])),
  )
  const [others, setOthers] = useState(() => {
    const unknown = Object.entries(layer).filter(([key]) => !isKnown(key))
    return unknown.length === 0 ? '' : JSON.stringify(Object.fromEntries(unknown), null, 2)
  })
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({})
  const { send, fault, setFault, isSending } = useSending()
  const save = async (unknown: Layer) => {
    const known = properties.flatMap(([key, property]) => {
      const value = fromField(fields[key] ?? '', property)
      return value === undefined ? [] : [[key, value] as const]
    })
    setWrong({})
    try {
      await gate.act(() => saveLayer(api, place, { ...unknown, ...Object.fromEntries(known) }))
    } catch (error) {
      const places = faultsOf(error)
      if (!Object.keys(places).some(isKnown)) throw error
      return setWrong(places)
    }
    await onSaved()
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        const unknown = readObject(others)
        if (unknown === null) setFault(texts.noJson)
        else void send(() => save(unknown))
      }}
    >
      <h4>{texts.changing[place.kind]}</h4>
      {properties.map(([key, property]) => (
        <SettingField
          key={key}
          name={key}
          property={property}
          fault={wrong[key]}
          value={fields[key] ?? ''}
          onInput={(value) => setFields({ ...fields, [key]: value })}
        />
      ))}
      <TextField name={texts.others} hint={texts.othersHint} max={8192} isLong value={others} onInput={setOthers} />
      <Fault text={fault} />
      <div class="row">
        <Button text={texts.save} type="submit" is="main" disabled={isSending} />
        {onCancel !== undefined && <Button text={texts.cancel} onClick={onCancel} />}
      </div>
    </form>
  )
}

interface SettingFieldProps {
  name: string
  property: Property
  fault: string | undefined
  value: string
  onInput: (value: string) => void
}

function SettingField({ name, property, fault, value, onInput }: SettingFieldProps) {
  const texts = deviceTexts()
  const id = useId()
  const choices = choicesOf(property)
  const props = {
    id,
    value,
    'aria-invalid': fault !== undefined,
    'aria-describedby': `${id}-hint ${id}-fault`,
  }
  return (
    <div class="field">
      <label for={id}>{property.title ?? name}</label>
      {choices === undefined ? (
        <input
          {...props}
          type="text"
          inputMode={property.type === 'string' ? 'text' : 'decimal'}
          autocomplete="off"
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      ) : (
        <select {...props} onChange={({ currentTarget }) => onInput(currentTarget.value)}>
          <option value="">{texts.notSet}</option>
          {choices.map((choice) => (
            <option key={String(choice)} value={String(choice)}>
              {String(choice)}
            </option>
          ))}
        </select>
      )}
      <span id={`${id}-hint`} class="small" dir="auto">
        {property.description ?? name}
      </span>
      <span id={`${id}-fault`} class="bad" role={fault === undefined ? undefined : 'alert'}>
        {fault}
      </span>
    </div>
  )
}

/** Returns the gateway's error for each setting. */
function faultsOf(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {}
  return Object.fromEntries(error.errors.map(({ name, detail }) => [name.replace(TYPE_PREFIX, ''), detail]))
}

/** Parses a typed object; empty text yields an empty object, invalid text null. */
function readObject(text: string): Layer | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}
