import './site/site.css'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { MEASURES, type NumberField, shownDefault, shownNumber } from '#dashboard/live/site-form.ts'
import { unitName } from '#dashboard/texts/format.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import type { SiteSettingsJson } from '#shared/wire/site.ts'
import { CourseFields } from './site/course-fields.tsx'
import { HoursFields } from './site/hours-fields.tsx'
import { type SiteEditor, useSite, useSiteEditor } from './site/site-editor.ts'
import { SiteField } from './site/site-field.tsx'
import { VehicleFields } from './site/vehicle-fields.tsx'

const BATTERY: readonly NumberField[] = ['pack.empty_v', 'pack.low_v', 'pack.full_v', 'rest_after_s', 'charge_check_h']
const WARNINGS: readonly NumberField[] = [
  'silent_after_s',
  'silent_on_course_after_s',
  'zone_stay_s',
  'call_escalate_min',
]
const LOCKING: readonly NumberField[] = ['auto_lock_after_min', 'lock_max_speed_kmh', 'lock_locate_after_s']
const PACE: readonly NumberField[] = ['minutes_per_hole', 'tee_interval_min', 'delay_from_min', 'round_timeout_min']
const HAND_OUT: readonly NumberField[] = ['return_after_min', 'names_kept_days']
const TRIPS: readonly NumberField[] = [
  'trips.speedThreshold',
  'trips.minimalTripDuration',
  'trips.minimalTripDistance',
  'trips.minimalParkingDuration',
  'trips.minimalNoDataDuration',
  'trips.minimalAvgSpeed',
  'trips.maxAcceleration',
]

/** Settings of the course: an admin changes them, staff read them. A page of More, which provides its title. */
export function SitePage() {
  const texts = siteTexts()
  const { site, setSite, fault, ask } = useSite()
  if (site !== null) return <SiteForm settings={site} onSaved={setSite} />
  if (fault === null) return <p>{texts.loading} …</p>
  return (
    <>
      <Fault text={fault} />
      <Button text={moreTexts().tryAgain} onClick={() => void ask()} />
    </>
  )
}

interface SiteFormProps {
  settings: SiteSettingsJson
  onSaved: (site: SiteSettingsJson) => void
}

function SiteForm({ settings, onSaved }: SiteFormProps) {
  const texts = siteTexts()
  const editor = useSiteEditor(settings, onSaved)
  const { changes, faults, fault, isReadOnly, isSaved, isSending, save, undo } = editor
  const { sections } = texts
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <p>{isReadOnly ? `${texts.why} ${texts.readOnly}` : texts.why}</p>
      <div class="columns">
        <Panel title={sections.course}>
          <CourseFields editor={editor} />
        </Panel>
        <Panel title={sections.hours}>
          <HoursFields editor={editor} />
        </Panel>
        <Panel title={sections.battery}>
          <NumberFields editor={editor} fields={BATTERY} />
        </Panel>
        <Panel title={sections.silent}>
          <NumberFields editor={editor} fields={WARNINGS} />
        </Panel>
        <Panel title={sections.lock}>
          <NumberFields editor={editor} fields={LOCKING} />
        </Panel>
        <Panel title={sections.pace}>
          <NumberFields editor={editor} fields={PACE} />
          <TickField
            name={texts.roundTimeoutLock}
            isDisabled={isReadOnly}
            isOn={editor.edits.round_timeout_lock ?? settings.round_timeout_lock}
            onChange={(isOn) => editor.edit({ round_timeout_lock: isOn })}
          />
        </Panel>
        <Panel title={sections.handOut}>
          <NumberFields editor={editor} fields={HAND_OUT} />
        </Panel>
        <FoldedPanel title={sections.vehicles} isOpen={false}>
          <VehicleFields editor={editor} />
        </FoldedPanel>
        <FoldedPanel title={sections.trips} isOpen={TRIPS.some((field) => faults.has(field))}>
          <NumberFields editor={editor} fields={TRIPS} />
        </FoldedPanel>
      </div>
      {!isReadOnly && (
        <div class={changes > 0 || isSaved ? 'site-save held panel' : 'site-save panel'}>
          <p role="status">{isSaved ? texts.saved : changes === 0 ? texts.noChanges : texts.changes(changes)}</p>
          <Fault text={faults.size > 0 ? texts.seeFields : fault} />
          <div class="row">
            <Button text={texts.undo} disabled={changes === 0} onClick={undo} />
            <Button text={texts.save} type="submit" is="main" disabled={changes === 0 || isSending} />
          </div>
        </div>
      )}
    </form>
  )
}

function Panel({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** Collapsible panel for rarely changed settings; open if one of them was rejected. */
function FoldedPanel({ title, isOpen, children }: { title: string; isOpen: boolean; children: ComponentChildren }) {
  const [isUnfolded, unfold] = useState(false)
  return (
    <details
      class="panel unfold"
      open={isUnfolded || isOpen}
      onToggle={({ currentTarget }) => unfold(currentTarget.open)}
    >
      <summary>
        <h2>{title}</h2>
      </summary>
      <div class="stack">{children}</div>
    </details>
  )
}

/** Fields of numeric settings; an empty field is the default. */
function NumberFields({ editor, fields }: { editor: SiteEditor; fields: readonly NumberField[] }) {
  const texts = siteTexts()
  const { settings, edits, edit, faults, isReadOnly, units } = editor
  return fields.map((field) => {
    const [name = '', why = ''] = texts.fields[field]
    const measure = MEASURES[field]
    return (
      <SiteField
        key={field}
        name={measure === undefined ? name : `${name}, ${unitName(measure, units)}`}
        why={why}
        fault={faults.get(field)}
      >
        {(input) => (
          <input
            {...input}
            type="text"
            inputmode="decimal"
            autocomplete="off"
            maxLength={20}
            readOnly={isReadOnly}
            placeholder={texts.empty(shownDefault(field, units) || texts.notKnown)}
            value={edits.numbers?.[field] ?? shownNumber(settings, field, units)}
            onInput={({ currentTarget: { value } }) => edit({ numbers: { ...edits.numbers, [field]: value } })}
          />
        )}
      </SiteField>
    )
  })
}
