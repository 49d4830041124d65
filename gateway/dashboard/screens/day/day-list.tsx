import { useEffect, useState } from 'preact/hooks'
import { type DayEvent, eventAt } from '#dashboard/live/replay/day-events.ts'
import type { Playback } from '#dashboard/live/replay/playback.ts'
import { formatTime } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'

const ROW_PX = 60

interface DayListProps {
  events: readonly DayEvent[]
  playback: Playback
  label: string
  /** Text for a day without events. */
  none: string
  wordsOf: (event: DayEvent) => string
  onChoose?: (event: DayEvent) => void
}

/** List of events in order; a tap moves the playback to the event. */
export function DayList({ events, playback, label, none, wordsOf, onChoose }: DayListProps) {
  const { site } = useDashboard()
  const { time_zone } = site.value
  const [at, setAt] = useState(-1)
  useEffect(() => playback.follow((atMs) => setAt(eventAt(events, atMs))), [playback, events])
  const current = events[at]?.key
  if (events.length === 0) return <p>{none}</p>
  return (
    <VirtualList items={events} rowPx={ROW_PX} label={label} keyOf={({ key }) => key}>
      {(event) => (
        <button
          type="button"
          class="line"
          aria-current={event.key === current ? 'true' : undefined}
          onClick={() => {
            playback.seek(event.atMs)
            onChoose?.(event)
          }}
        >
          <i class={`day-sign ${event.kind}`} aria-hidden="true" />
          <time>{formatTime(event.atMs, time_zone)}</time>
          <span class="clamp" dir="auto">
            {wordsOf(event)}
          </span>
        </button>
      )}
    </VirtualList>
  )
}
