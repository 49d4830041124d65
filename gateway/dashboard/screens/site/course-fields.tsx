import { useState } from 'preact/hooks'
import { findTimeZone, timeZones } from '#dashboard/live/set-up/set-up.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import type { SiteEditor } from './site-editor.ts'
import { SiteField } from './site-field.tsx'

const NAME_MAX = 200

export function CourseFields({ editor }: { editor: SiteEditor }) {
  const texts = siteTexts()
  const { languages, unitNames } = moreTexts()
  const [{ all: zones }] = useState(timeZones)
  const { settings, edits, edit, faults, isReadOnly } = editor
  const shown = { ...settings, ...edits }
  return (
    <>
      <SiteField name={texts.name} why={texts.nameWhy} fault={faults.get('name')}>
        {(input) => (
          <input
            {...input}
            maxLength={NAME_MAX}
            dir="auto"
            autocomplete="off"
            readOnly={isReadOnly}
            value={shown.name}
            onInput={({ currentTarget: { value } }) => edit({ name: value })}
          />
        )}
      </SiteField>
      <SiteField name={texts.timeZone} why={texts.timeZoneWhy} fault={faults.get('time_zone')}>
        {(input) => (
          <>
            <input
              {...input}
              list="all-time-zones"
              autocomplete="off"
              spellcheck={false}
              readOnly={isReadOnly}
              value={shown.time_zone}
              onInput={({ currentTarget: { value } }) => edit({ time_zone: value.trim() })}
              onChange={({ currentTarget: { value } }) => edit({ time_zone: findTimeZone(value) ?? value.trim() })}
            />
            <datalist id="all-time-zones">
              {zones.map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
          </>
        )}
      </SiteField>
      <SelectField
        name={texts.units}
        why={texts.unitsWhy}
        isDisabled={isReadOnly}
        value={shown.units}
        options={unitNames}
        onChoose={(units) => edit({ units })}
      />
      <SelectField
        name={texts.language}
        why={texts.languageWhy}
        isDisabled={isReadOnly}
        value={shown.language}
        options={languages}
        onChoose={(language) => edit({ language })}
      />
    </>
  )
}
