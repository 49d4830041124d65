import type { CartJson } from '#shared/wire/carts.ts'
import { type CsvCell, type Language, toCsv } from '../csv.ts'

interface CsvOf {
  language: Language
  /** Time zone of the course, in which times are written. */
  timeZone: string
}

type Column = (cart: CartJson, timeZone: string) => CsvCell

const COLUMNS: readonly [name: string, of: Column][] = [
  ['cart', ({ cart }) => cart],
  ['state', ({ state }) => state],
  ['hole', ({ zones }) => zones.find(({ hole }) => hole != null)?.hole ?? null],
  ['zones', ({ zones }) => zones.map(({ name }) => name).join(' / ')],
  ['lat', ({ position }) => position?.lat ?? null],
  ['long', ({ position }) => position?.long ?? null],
  ['is_low', ({ is_low }) => is_low],
  ['voltage', ({ battery }) => battery?.voltage ?? null],
  ['rest_voltage', ({ battery }) => battery?.rest_voltage ?? null],
  ['percent', ({ battery }) => battery?.percent ?? null],
  ['is_locked', ({ lock }) => lock?.is_locked ?? null],
  ['last_heard_at', ({ last_heard_at }, timeZone) => localTime(last_heard_at, timeZone)],
  ['out_of_service', ({ out_of_service }) => out_of_service?.why ?? null],
  ['note', ({ note }) => note],
  ['kind', ({ kind }) => kind],
]

export function toFleetCsv(carts: readonly CartJson[], { language, timeZone }: CsvOf): string {
  const rows = carts.map((cart) => COLUMNS.map(([, of]) => of(cart, timeZone)))
  return toCsv([COLUMNS.map(([name]) => name), ...rows], language)
}

/** Formats "2026-05-01 14:05:09", which every spreadsheet recognises as a time. */
function localTime(at: string | null, timeZone: string): string | null {
  if (at === null) return null
  const format = { dateStyle: 'short', timeStyle: 'medium', timeZone } as const
  // Swedish dates have the ISO 8601 form
  return new Intl.DateTimeFormat('sv-SE', format).format(Date.parse(at))
}
