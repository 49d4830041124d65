import { isTimeZone } from '#shared/site/time-zone.ts'
import type { Units } from '#shared/units.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import { keepText, readKept } from '../page/kept-text.ts'

/** Steps of the set-up, in their order. */
export const SET_UP_STEPS = ['course', 'pin', 'place', 'key'] as const
export type SetUpStep = (typeof SET_UP_STEPS)[number]

const STEP = 'cartbarn.set-up'
/** Countries whose golfers measure in miles and yards. */
const IMPERIAL = ['GB', 'LR', 'MM', 'US']

export interface Country {
  code: string
  name: string
  timeZones: readonly string[]
}

/** True until the owner has signed in with a personal key: a reload before that keeps the set-up open. */
export function isFirstSetUp({ session }: MeJson): boolean {
  return session?.is_set_up === true
}

/** Returns the step at which a set-up continues after a reload. */
export function readStep({ site }: MeJson): SetUpStep {
  if (site.name === '') return 'course'
  const stored = readKept(() => sessionStorage, STEP)
  const kept = SET_UP_STEPS.find((step) => step === stored)
  return kept === undefined || kept === 'course' ? 'pin' : kept
}

/** Keeps the step for a reload; without storage the PIN is the next step then. */
export function keepStep(step: SetUpStep): void {
  keepText(() => sessionStorage, STEP, step)
}

/** Returns all time zones that the browser knows by name, and its own; older browsers have no list. */
export function timeZones(): { own: string; all: readonly string[] } {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
  return { own, all: Intl.supportedValuesOf('timeZone') }
}

/** Finds a time zone by its name, or by a city that only one name has; undefined if unknown or ambiguous. */
export function findTimeZone(typed: string): string | undefined {
  const wanted = typed.trim().replaceAll(' ', '_').toLowerCase()
  const { all } = timeZones()
  const ofCity = all.filter((zone) => zone.toLowerCase().endsWith(`/${wanted}`))
  const named =
    all.find((zone) => zone.toLowerCase() === wanted) ?? (isTimeZone(typed.trim()) ? typed.trim() : undefined)
  return named ?? (ofCity.length === 1 ? ofCity[0] : undefined)
}

/** Returns the countries with their time zones, by name; empty in a browser that does not know the time zones. */
export function listCountries(language: string): Country[] {
  const names = new Intl.DisplayNames(language, { type: 'region', fallback: 'none' })
  const letters = Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i))
  const countries = letters.flatMap((first) => letters.map((second) => countryOf(first + second, names)))
  return countries.filter((country) => country !== null).sort((a, b) => a.name.localeCompare(b.name, language))
}

function countryOf(code: string, names: Intl.DisplayNames): Country | null {
  const locale: Intl.Locale & { getTimeZones?: () => string[] | undefined } = new Intl.Locale(`und-${code}`)
  const name = names.of(code)
  const zones = locale.getTimeZones?.() ?? []
  // a code that is not in use, or the former one of a country
  return name === undefined || locale.region !== code || zones.length === 0 ? null : { code, name, timeZones: zones }
}

/** Returns the units of a country. */
export function unitsOf(code: string): Units {
  return IMPERIAL.includes(code) ? 'imperial' : 'metric'
}
