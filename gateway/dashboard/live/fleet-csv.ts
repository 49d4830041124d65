import type { CartJson } from '#shared/wire/carts.ts'

const COLUMNS: readonly [name: string, of: (cart: CartJson) => string | number | boolean | null][] = [
  ['cart', ({ cart }) => cart],
  ['state', ({ state }) => state],
  ['zones', ({ zones }) => zones.map(({ name }) => name).join(' / ')],
  ['lat', ({ position }) => position?.lat ?? null],
  ['long', ({ position }) => position?.long ?? null],
  ['is_low', ({ is_low }) => is_low],
  ['voltage', ({ battery }) => battery?.voltage ?? null],
  ['rest_voltage', ({ battery }) => battery?.rest_voltage ?? null],
  ['percent', ({ battery }) => battery?.percent ?? null],
  ['is_locked', ({ lock }) => lock?.is_locked ?? null],
  ['last_heard_at', ({ last_heard_at }) => last_heard_at],
  ['out_of_service', ({ out_of_service }) => out_of_service?.why ?? null],
  ['note', ({ note }) => note],
]

/** RFC 4180 with a byte order mark, which is what spreadsheets know UTF-8 by. */
export function toFleetCsv(carts: readonly CartJson[]): string {
  const rows = [COLUMNS.map(([name]) => name), ...carts.map((cart) => COLUMNS.map(([, of]) => of(cart)))]
  return `\u{feff}${rows.map((row) => row.map(toCell).join(',')).join('\r\n')}\r\n`
}

// A spreadsheet takes a text that begins like this for a formula: OWASP, CSV Injection.
const FORMULA = /^[=+\-@\t\r]/

function toCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
