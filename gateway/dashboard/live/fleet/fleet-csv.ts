import type { CartJson } from '#shared/wire/carts.ts'
import { type CsvCell, toCsv } from '../csv.ts'

const COLUMNS: readonly [name: string, of: (cart: CartJson) => CsvCell][] = [
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

/** The fleet as a table. */
export function toFleetCsv(carts: readonly CartJson[]): string {
  return toCsv([COLUMNS.map(([name]) => name), ...carts.map((cart) => COLUMNS.map(([, of]) => of(cart)))])
}
