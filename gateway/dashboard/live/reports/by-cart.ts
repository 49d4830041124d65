import { compareNatural } from '#shared/carts/cart-keys.ts'
import type { BatteryRowJson, UtilisationRowJson } from '#shared/wire/reports.ts'

/** Usage of one cart in a month. */
export interface CartUse {
  cart: string
  hours: number
  distanceM: number
  rounds: number
  rows: readonly UtilisationRowJson[]
}

/** Battery condition of one cart over a month. */
export interface CartPack {
  cart: string
  /** Newest morning voltage at rest. */
  morningV: number | null
  /** Gain of the morning voltage in thirty days, by regression; null for under three mornings or under a week. */
  trendV: number | null
  lowestV: number | null
  rows: readonly BatteryRowJson[]
}

const TREND_DAYS = 30
const TREND_MORNINGS = 3
/**
 * Minimum days from the first morning to the last: with three consecutive mornings, the effect of the weather would be
 * multiplied by ten over thirty days.
 */
const TREND_SPAN_DAYS = 7

/** Returns the usage of each cart, in the order of the rows. */
export function useByCart(rows: readonly UtilisationRowJson[]): CartUse[] {
  return grouped(rows).map(([cart, ofCart]) => ({
    cart,
    rows: ofCart,
    hours: sum(ofCart, ({ hours_out }) => hours_out),
    distanceM: sum(ofCart, ({ distance }) => distance),
    rounds: sum(ofCart, ({ rounds }) => rounds),
  }))
}

/** Returns the battery condition of each cart, in the order of the rows. */
export function packByCart(rows: readonly BatteryRowJson[]): CartPack[] {
  return grouped(rows).map(([cart, ofCart]) => {
    const mornings = ofCart.flatMap(({ date, rest_voltage_morning: volts }) =>
      volts === null ? [] : [{ day: Number(date.slice(8)), volts }],
    )
    const lows = ofCart.flatMap(({ lowest_voltage: volts }) => volts ?? [])
    return {
      cart,
      rows: ofCart,
      morningV: mornings.at(-1)?.volts ?? null,
      trendV: trendOf(mornings),
      lowestV: lows.length === 0 ? null : Math.min(...lows),
    }
  })
}

export function byCart(a: { cart: string }, b: { cart: string }): number {
  return compareNatural(a.cart, b.cart)
}

/** Compares values of which unknown ones come last. */
export function unknownLast(a: number | null, b: number | null): number {
  return a === b ? 0 : (a ?? Number.POSITIVE_INFINITY) - (b ?? Number.POSITIVE_INFINITY)
}

/** Returns the hours of all carts on each day of a month; `rows` may be of a single cart. */
export function hoursByDay(rows: readonly UtilisationRowJson[], days: number): number[] {
  const hours = Array.from({ length: days }, () => 0)
  for (const { date, hours_out } of rows) {
    const day = Number(date.slice(8)) - 1
    hours[day] = (hours[day] ?? 0) + hours_out
  }
  return hours
}

/** Returns a voltage for each day of a month; null for a day without one. */
export function voltsByDay(
  rows: readonly BatteryRowJson[],
  days: number,
  name: 'rest_voltage_morning' | 'lowest_voltage',
): (number | null)[] {
  const byDay = new Map(rows.map((row) => [Number(row.date.slice(8)), row[name]]))
  return Array.from({ length: days }, (_, i) => byDay.get(i + 1) ?? null)
}

/** Slope by least squares. */
function trendOf(mornings: readonly { day: number; volts: number }[]): number | null {
  const count = mornings.length
  const spanDays = (mornings.at(-1)?.day ?? 0) - (mornings[0]?.day ?? 0)
  if (count < TREND_MORNINGS || spanDays < TREND_SPAN_DAYS) return null
  const day = sum(mornings, (one) => one.day) / count
  const volts = sum(mornings, (one) => one.volts) / count
  const together = sum(mornings, (one) => (one.day - day) * (one.volts - volts))
  return (together / sum(mornings, (one) => (one.day - day) ** 2)) * TREND_DAYS
}

function grouped<Row extends { cart: string }>(rows: readonly Row[]): [string, Row[]][] {
  const byCart = new Map<string, Row[]>()
  for (const row of rows) {
    const known = byCart.get(row.cart)
    if (known === undefined) byCart.set(row.cart, [row])
    else known.push(row)
  }
  return [...byCart]
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
