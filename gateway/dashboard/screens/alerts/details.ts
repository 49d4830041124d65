import { alertDetailTexts } from '#dashboard/texts/alerts/alert-details.ts'
import { formatSpan, formatTime, formatVoltage } from '#dashboard/texts/format.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'

/** Formats the details of an alert, such as "46.4 V at rest, low below 47.5 V"; empty if it has none. */
export function detailsInWords({ kind, details }: AlertJson, timeZone: string): string {
  const texts = alertDetailTexts()
  if (details.reason === 'removed') return texts.removed
  const volts = numberOf(details.voltage, formatVoltage)
  const time = (name: string) => timeOf(details[name], timeZone)
  const hardwareId = typeof details.hardware_id === 'string' ? details.hardware_id : ''
  const name = typeof details.name === 'string' ? details.name : ''
  switch (kind) {
    case 'low_battery': {
      const threshold = numberOf(details.threshold, formatVoltage)
      if (volts === '') return ''
      return threshold === '' ? texts.volts(volts) : texts.voltage(volts, threshold)
    }
    case 'not_charging':
      return joined(volts && texts.volts(volts), time('since') && texts.sinceTime(time('since')))
    case 'standing':
      return joined(time('since') && texts.sinceTime(time('since')), numberOf(details.hole, paceTexts().hole))
    case 'zone_stay':
      return joined(
        name,
        numberOf(details.seconds, (seconds) => formatSpan(seconds * 1000)),
      )
    case 'silent_on_course':
      return time('last_heard_at') && texts.heard(time('last_heard_at'))
    case 'open_after_closing':
    case 'out_after_closing':
      return time('closed_at') && texts.closedAt(time('closed_at'))
    case 'call':
      return joined(
        typeof details.text === 'string' ? details.text : '',
        numberOf(details.count, (count) => (count > 1 ? texts.count(count) : '')),
        details.is_late === true ? texts.late : '',
        time('escalated_at') && texts.escalated(time('escalated_at')),
        typeof details.reply === 'string' ? texts.replied(details.reply) : '',
        details.reason === 'cancelled' ? texts.cancelled : '',
      )
    case 'service_due':
      return name
    case 'device_twice':
      return hardwareId
    case 'device_clock':
      return joined(
        hardwareId,
        numberOf(details.clock_off_s, (offS) => texts.clock(formatSpan(Math.abs(offS) * 1000), offS > 0)),
      )
    case 'pin_locked':
      return time('until') === '' ? name : texts.pin(name, time('until'))
    case 'disk':
      return shareOf(details.used_bytes, details.budget_bytes, texts.disk)
    case 'sync':
      return time('last_contact_at') && texts.contact(time('last_contact_at'))
    default:
      return ''
  }
}

function numberOf(value: unknown, format: (value: number) => string): string {
  return typeof value === 'number' ? format(value) : ''
}

function timeOf(value: unknown, timeZone: string): string {
  const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(atMs) ? '' : formatTime(atMs, timeZone)
}

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(', ')
}

function shareOf(part: unknown, whole: unknown, format: (percent: number) => string): string {
  const isKnown = typeof part === 'number' && typeof whole === 'number' && whole > 0
  return isKnown ? format(Math.round((part / whole) * 100)) : ''
}
