/** Returns the month in a time zone, such as `2026-05`. */
export function monthOf(atMs: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    year: 'numeric',
    month: '2-digit',
    timeZone,
  }).formatToParts(atMs)
  const part = (name: string) => parts.find(({ type }) => type === name)?.value ?? ''
  return `${part('year')}-${part('month')}`
}

/** Adds months, or subtracts them if `months` is negative. */
export function monthAfter(month: string, months: number): string {
  const [year, ofYear] = [Number(month.slice(0, 4)), Number(month.slice(5))]
  return new Date(Date.UTC(year, ofYear - 1 + months)).toISOString().slice(0, 7)
}

export function daysIn(month: string): number {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate()
}
