import { useMemo, useState } from 'preact/hooks'
import { findTimeZone, listCountries, timeZones, unitsOf } from '#dashboard/live/set-up/set-up.ts'
import { restoreTexts } from '#dashboard/texts/gateway/restore.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { language } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { Units } from '#shared/units.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import { StepForm } from './step-form.tsx'

type Site = Pick<MeJson['site'], 'name' | 'time_zone' | 'units'>

interface CourseStepProps {
  /** Earlier answers; an empty name without any. */
  site: Site
  onDone: (site: Site) => void
  onRestore: () => void
}

/** First step: name, country, time zone and units. The country only proposes the other two. */
export function CourseStep({ site, onDone, onRestore }: CourseStepProps) {
  const { api, preferences } = useDashboard()
  const texts = signInTexts()
  const { units: unitsLabel, unitNames } = moreTexts()
  const countries = useMemo(() => listCountries(language.value), [language.value])
  const [{ own, all }] = useState(timeZones)
  const [name, setName] = useState(site.name)
  // a browser in UTC has no place
  const [zone, setZone] = useState(site.name !== '' ? site.time_zone : own === 'UTC' ? '' : own)
  const [code, setCode] = useState(() => countries.find(({ timeZones }) => timeZones.includes(zone))?.code ?? '')
  const [units, setUnits] = useState<Units>(site.name === '' ? unitsOf(code) : site.units)
  const zones = countries.find((country) => country.code === code)?.timeZones ?? all
  const choose = (chosen: string) => {
    const [first = '', ...more] = countries.find((country) => country.code === chosen)?.timeZones ?? []
    setCode(chosen)
    setUnits(unitsOf(chosen))
    setZone((known) => (more.length === 0 ? first : known === first || more.includes(known) ? known : ''))
  }
  const save = async () => {
    const timeZone = findTimeZone(zone)
    if (timeZone === undefined) return texts.noSuchZone
    const chosen = preferences.choice.value.language
    const body = { name: name.trim(), time_zone: timeZone, units, ...(chosen === null ? {} : { language: chosen }) }
    onDone(await api.call('PATCH /site', { body }))
    return null
  }
  return (
    <StepForm
      step="course"
      title={texts.welcome}
      action={texts.next}
      act={save}
      other={<RestoreOffer onRestore={onRestore} />}
    >
      <label class="field">
        {texts.courseName}
        <input
          required
          maxLength={200}
          autocomplete="organization"
          dir="auto"
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      {countries.length > 0 && (
        <label class="field">
          {texts.country}
          <select value={code} onChange={({ currentTarget }) => choose(currentTarget.value)}>
            <option value="" />
            {countries.map((country) => (
              <option key={country.code} value={country.code}>
                {country.name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="field">
        {texts.timeZone}
        <input
          required
          list="time-zones"
          autocomplete="off"
          spellcheck={false}
          placeholder={texts.timeZoneHint}
          value={zone}
          onInput={({ currentTarget }) => setZone(currentTarget.value)}
        />
      </label>
      <datalist id="time-zones">
        {zones.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <label class="field">
        {unitsLabel}
        <select
          value={units}
          onChange={({ currentTarget: { value } }) => setUnits(value === 'imperial' ? 'imperial' : 'metric')}
        >
          <option value="metric">{unitNames.metric}</option>
          <option value="imperial">{unitNames.imperial}</option>
        </select>
      </label>
    </StepForm>
  )
}

/** Offers to continue an old gateway in place of a new course. */
function RestoreOffer({ onRestore }: { onRestore: () => void }) {
  const texts = restoreTexts()
  return (
    <div class="panel">
      <p>{texts.offerWhy}</p>
      <button type="button" class="button" onClick={onRestore}>
        {texts.offer}
      </button>
    </div>
  )
}
