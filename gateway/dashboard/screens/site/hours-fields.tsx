import { copyMonday, type HoursJson } from '#dashboard/live/site-form.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import { WEEKDAYS, type Weekday } from '#shared/site/settings.ts'
import type { SiteEditor } from './site-editor.ts'

type Hours = NonNullable<HoursJson>
type Day = NonNullable<Hours[Weekday]>

/** Default hours of a day that is switched to open. */
const USUAL: Day = ['07:00', '20:00']
const USUAL_WEEK: Hours = copyMonday({
  mon: USUAL,
  tue: null,
  wed: null,
  thu: null,
  fri: null,
  sat: null,
  sun: null,
})
/** End of a day, which time fields cannot show. */
const [MIDNIGHT, END_OF_DAY] = ['00:00', '24:00']

export function HoursFields({ editor }: { editor: SiteEditor }) {
  const texts = siteTexts()
  const { settings, edits, edit, faults, isReadOnly } = editor
  const hours = edits.opening_hours === undefined ? settings.opening_hours : edits.opening_hours
  const fault = [...faults].find(([name]) => name.startsWith('opening_hours'))?.[1]
  return (
    <>
      <TickField
        name={texts.hoursKnown}
        isDisabled={isReadOnly}
        isOn={hours !== null}
        onChange={(isOn) => edit({ opening_hours: isOn ? (settings.opening_hours ?? USUAL_WEEK) : null })}
      />
      <p class="small">{texts.hoursWhy}</p>
      {hours !== null &&
        WEEKDAYS.map((day) => (
          <DayFields
            key={day}
            name={texts.days[day]}
            open={hours[day]}
            isReadOnly={isReadOnly}
            onOpen={(open) => edit({ opening_hours: { ...hours, [day]: open } })}
          />
        ))}
      {fault !== undefined && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
      {hours !== null && !isReadOnly && (
        <Button text={texts.likeMonday} onClick={() => edit({ opening_hours: copyMonday(hours) })} />
      )}
      <TickField
        name={texts.lockAtClosing}
        isDisabled={isReadOnly}
        isOn={edits.lock_at_closing ?? settings.lock_at_closing}
        onChange={(isOn) => edit({ lock_at_closing: isOn })}
      />
      <p class="small">{texts.lockAtClosingWhy}</p>
    </>
  )
}

interface DayFieldsProps {
  name: string
  open: Hours[Weekday]
  isReadOnly: boolean
  onOpen: (open: Hours[Weekday]) => void
}

function DayFields({ name, open, isReadOnly, onOpen }: DayFieldsProps) {
  const texts = siteTexts()
  return (
    <fieldset class="row site-day" disabled={isReadOnly}>
      <legend class="visually-hidden">{name}</legend>
      <TickField name={name} isOn={open !== null} onChange={(isOn) => onOpen(isOn ? USUAL : null)} />
      {open === null ? (
        <span>{texts.closed}</span>
      ) : (
        <span class="row">
          <input
            type="time"
            class="input time"
            aria-label={texts.opens(name)}
            value={open[0]}
            onInput={({ currentTarget: { value } }) => onOpen([value, open[1]])}
          />
          <span>–</span>
          <input
            type="time"
            class="input time"
            aria-label={texts.closes(name)}
            value={open[1] === END_OF_DAY ? MIDNIGHT : open[1]}
            onInput={({ currentTarget: { value } }) => onOpen([open[0], value === MIDNIGHT ? END_OF_DAY : value])}
          />
        </span>
      )}
    </fieldset>
  )
}
