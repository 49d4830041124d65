import { useEffect, useState } from 'preact/hooks'
import { type DayEvent, eventAt } from '#dashboard/live/replay/day-events.ts'
import type { Playback } from '#dashboard/live/replay/playback.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatTime } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { eventInWords } from './event-words.ts'

const ROW_PX = 60

/** What happened, in its order; a touch goes to its time. */
export function DayList({ events, playback }: { events: readonly DayEvent[]; playback: Playback }) {
  const { site } = useDashboard()
  const texts = dayTexts()
  const { time_zone, units } = site.value
  const [at, setAt] = useState(-1)
  useEffect(() => playback.follow((atMs) => setAt(eventAt(events, atMs))), [playback, events])
  const current = events[at]?.key
  if (events.length === 0) return <p>{texts.noEvents}</p>
  return (
    <div class="day-list">
      <VirtualList items={events} rowPx={ROW_PX} label={texts.events} keyOf={({ key }) => key}>
        {(event) => (
          <button
            type="button"
            class="day-row"
            aria-current={event.key === current ? 'true' : undefined}
            onClick={() => playback.seek(event.atMs)}
          >
            <i class={`day-sign ${event.kind}`} aria-hidden="true" />
            <time>{formatTime(event.atMs, time_zone)}</time>
            <span dir="auto">{eventInWords(event, units)}</span>
          </button>
        )}
      </VirtualList>
    </div>
  )
}
