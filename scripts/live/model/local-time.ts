/** Time zone of the simulated course. Its clocks change in March and October. */
export const ZONE = 'Europe/Berlin'

/** Minute of the local day at which nothing happens on the course. */
export const NIGHT_MINUTE = 180
/** Closing time of the course, by the minute of its local day. */
export const CLOSES_MINUTE = 21 * 60 + 30

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const format = new Intl.DateTimeFormat('en-GB', {
  timeZone: ZONE,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

/** Local date and minute of the day. Judges local days without the code of the product. */
export function toLocal(atMs: number): { date: string; minute: number } {
  const part = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  return { date: `${part.year}-${part.month}-${part.day}`, minute: Number(part.hour) * 60 + Number(part.minute) }
}

/** Time of a local minute; of a time that occurs twice the first, of one that is skipped the same time later. */
export function localToMs(date: string, minute: number): number {
  const asUtcMs = Date.parse(`${date}T00:00:00Z`) + minute * MINUTE_MS
  // at most two offsets apply around it
  for (const offsetMin of [offsetOf(asUtcMs - DAY_MS), offsetOf(asUtcMs + DAY_MS)]) {
    const atMs = asUtcMs - offsetMin * MINUTE_MS
    const local = toLocal(atMs)
    if (Date.parse(`${local.date}T00:00:00Z`) + local.minute * MINUTE_MS === asUtcMs) return atMs
  }
  return asUtcMs - offsetOf(asUtcMs - DAY_MS) * MINUTE_MS
}

/** Firmware version of a device that connects: every week another. */
export function firmwareOf(atMs: number): string {
  return `1.${Math.floor(atMs / (7 * DAY_MS))}`
}

export function nextDay(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10)
}

function offsetOf(atMs: number): number {
  const { date, minute } = toLocal(atMs)
  return (Date.parse(`${date}T00:00:00Z`) - Math.floor(atMs / MINUTE_MS) * MINUTE_MS) / MINUTE_MS + minute
}
