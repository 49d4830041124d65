import { adjacentDay } from '#dashboard/live/replay/day-address.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { isCalendarDate } from '#shared/site/time-zone.ts'

/** Picker for a day in the course's time zone, with buttons for the adjacent days. */
export function DatePicker({ date, onDate }: { date: string; onDate: (date: string) => void }) {
  const texts = dayTexts()
  const dayButton = (days: -1 | 1, label: string, icon: 'back' | 'next') => (
    <Button icon={icon} aria-label={label} onClick={() => onDate(adjacentDay(date, days))} />
  )
  return (
    <div class="date-picker">
      {dayButton(-1, texts.before, 'back')}
      <input
        class="input"
        type="date"
        aria-label={texts.day}
        value={date}
        onChange={({ currentTarget }) => isCalendarDate(currentTarget.value) && onDate(currentTarget.value)}
      />
      {dayButton(1, texts.after, 'next')}
    </div>
  )
}
