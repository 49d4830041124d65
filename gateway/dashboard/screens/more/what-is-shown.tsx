import { moreTexts } from '#dashboard/texts/more.ts'
import { LANGUAGES } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

const UNITS = ['metric', 'imperial'] as const

/** Language and units of this tablet; the course's unless somebody says otherwise. */
export function WhatIsShown() {
  const { preferences } = useDashboard()
  const texts = moreTexts()
  const { language, units } = preferences.choice.value
  return (
    <section class="panel">
      <label class="field">
        {texts.language}
        <select
          value={language ?? ''}
          onChange={({ currentTarget: { value } }) =>
            preferences.choose({ language: LANGUAGES.find((one) => one === value) ?? null })
          }
        >
          <option value="">{texts.asCourse}</option>
          {LANGUAGES.map((one) => (
            <option key={one} value={one}>
              {texts.languages[one]}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        {texts.units}
        <select
          value={units ?? ''}
          onChange={({ currentTarget: { value } }) =>
            preferences.choose({ units: UNITS.find((one) => one === value) ?? null })
          }
        >
          <option value="">{texts.asCourse}</option>
          {UNITS.map((one) => (
            <option key={one} value={one}>
              {texts.unitNames[one]}
            </option>
          ))}
        </select>
      </label>
    </section>
  )
}
