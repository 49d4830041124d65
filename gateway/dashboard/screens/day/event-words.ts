import type { DayEvent } from '#dashboard/live/replay/day-events.ts'
import { lockSourceOf } from '#dashboard/live/replay/lock-source.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatDistance, formatSpan } from '#dashboard/texts/format.ts'
import type { Units } from '#shared/units.ts'

/** "Drove 2.4 km in 34 min": what happened, in words. */
export function eventInWords(event: DayEvent, units: Units): string {
  const texts = dayTexts()
  switch (event.kind) {
    case 'trip': {
      const { distance, duration } = event.trip
      return texts.tripRow(formatDistance(distance, units), formatSpan(duration * 1000))
    }
    case 'stop':
      return texts.stopRow(formatSpan(event.stop.duration * 1000))
    case 'lock': {
      const { event: what } = event.event
      const by = lockSourceOf(event.event, texts.sources)
      return what === 'lock' ? texts.locked(by) : texts.unlocked(by)
    }
    case 'zone': {
      const { event: way, zone_name } = event.event
      return way === 'enter' ? texts.entered(zone_name) : texts.left(zone_name)
    }
    case 'alert':
      return alertTexts().kinds[event.alert.kind]
  }
}
