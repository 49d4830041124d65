import type { ZoneJson } from '#dashboard/map/zone-draft.ts'
import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { cornersOn } from '#dashboard/map/zone-shape.ts'
import { formatMoment, unitName } from '#dashboard/texts/format.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { fromUnits, toUnits } from '#shared/units.ts'
import { GroupsField } from './groups-field.tsx'

const NAME_MAX = 200
const MESSAGE_MAX = 200

type Properties = ZoneJson['properties']

interface ZoneFormProps {
  editor: ZoneEditor
  zone: ZoneJson
  isAdmin: boolean
}

export function ZoneForm({ editor, zone, isAdmin }: ZoneFormProps) {
  const texts = zonesTexts()
  const { properties } = zone
  const { units } = useDashboard().site.value
  const inUnits = (kmh: number | undefined) => (kmh === undefined ? kmh : toUnits(kmh, 'speed', units))
  const isCircle = zone.geometry.type === 'Point'
  const say = (more: { [Name in keyof Properties]?: Properties[Name] | undefined }) =>
    // undefined properties are omitted from the body, which removes them
    editor.change({ ...zone, properties: { ...properties, ...more } as Properties })
  const canCut = editor.corner.value >= 0 && cornersOn(zone).length > 3
  return (
    <>
      <Button text={texts.back} is="wide" onClick={() => editor.choose(null)} />
      {isAdmin && <p class="small">{isCircle ? texts.circleHow : texts.moveHow}</p>}
      {isAdmin && !isCircle && <Button text={texts.cut} is="wide" disabled={!canCut} onClick={() => editor.cut()} />}
      {isAdmin && <Button text={texts.undo} is="wide" disabled={!editor.canUndo} onClick={() => editor.undo()} />}
      <SwitchedWords properties={properties} />
      <fieldset class="stack" disabled={!isAdmin}>
        <TextField name={texts.name} max={NAME_MAX} value={properties.name} onInput={(name) => say({ name })} />
        <SelectField
          name={texts.type}
          value={properties.type}
          options={texts.types}
          onChoose={(type) => say({ type })}
        />
        <NumberField name={texts.holeNumber} value={properties.hole} onValue={(hole) => say({ hole })} />
        {properties.type === 'slow' && (
          <NumberField
            name={texts.speed(unitName('speed', units))}
            value={inUnits(properties.max_speed_kmh)}
            onValue={(typed) =>
              say({ max_speed_kmh: typed === undefined ? undefined : fromUnits(typed, 'speed', units) })
            }
          />
        )}
        {properties.type === 'message' && (
          <TextField
            name={texts.message}
            max={MESSAGE_MAX}
            isLong
            value={properties.message ?? ''}
            onInput={(message) => say({ message: message === '' ? undefined : message })}
          />
        )}
        <TickField name={texts.enabled} isOn={properties.enabled} onChange={(enabled) => say({ enabled })} />
        <TickField name={texts.visible} isOn={properties.visible} onChange={(visible) => say({ visible })} />
        <TickField
          name={texts.lockHere}
          isOn={properties.lock_here === true}
          onChange={(isOn) => say({ lock_here: isOn ? true : undefined })}
        />
        <GroupsField groups={properties.groups} onGroups={(groups) => say({ groups })} />
      </fieldset>
      {isAdmin && <Button text={texts.remove} is="wide" onClick={() => editor.remove()} />}
    </>
  )
}

interface NumberFieldProps {
  name: string
  value: number | undefined
  onValue: (value: number | undefined) => void
}

function NumberField({ name, value, onValue }: NumberFieldProps) {
  return (
    <label class="field">
      {name}
      <input
        type="number"
        inputMode="numeric"
        value={value ?? ''}
        onInput={({ currentTarget }) => onValue(currentTarget.value === '' ? undefined : Number(currentTarget.value))}
      />
    </label>
  )
}

/** Notice of a temporary override, and the effect of a change during it. */
function SwitchedWords({ properties: { switched, enabled } }: { properties: Properties }) {
  const { clock, site } = useDashboard()
  const texts = zonesTexts()
  if (switched === null) return null
  const until =
    switched.until === null
      ? texts.untilEnded
      : texts.until(formatMoment(Date.parse(switched.until), clock.nowMs(), site.value.time_zone))
  return <p>{enabled ? texts.switchedOn(until) : texts.switchedOff(until)}</p>
}
