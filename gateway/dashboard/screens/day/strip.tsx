import type { DayEvent } from '#dashboard/live/replay/day-events.ts'
import type { Span } from '#dashboard/live/replay/playback.ts'

/** Trips and stops as bars, other events as marks, along the time axis; the list has the same content as text. */
export function Strip({ events, span }: { events: readonly DayEvent[]; span: Span }) {
  const percent = (atMs: number) => (100 * (atMs - span.fromMs)) / Math.max(1, span.toMs - span.fromMs)
  return (
    <div class="day-strip">
      {events.map((event) => {
        const left = percent(event.atMs)
        const width = 'untilMs' in event ? percent(event.untilMs) - left : 0
        return (
          <i
            key={event.key}
            class={`day-mark ${event.kind}`}
            style={{ left: `${left.toFixed(3)}%`, ...(width > 0 && { width: `${width.toFixed(3)}%` }) }}
          />
        )
      })}
    </div>
  )
}
