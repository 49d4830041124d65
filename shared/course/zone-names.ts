import type { ZoneNames } from './propose-zones.ts'

const numbered = (word: string) => (hole: number | null) => (hole === null ? word : `${word} ${hole}`)

/** Names of proposed zones, in the language of the site. */
export const ZONE_NAMES: Readonly<Record<'en' | 'de', ZoneNames>> = {
  en: {
    course: 'Golf course',
    hole: numbered('Hole'),
    green: numbered('Green'),
    fairway: numbered('Fairway'),
    water: 'Water',
  },
  de: {
    course: 'Golfplatz',
    hole: numbered('Bahn'),
    green: numbered('Grün'),
    fairway: numbered('Fairway'),
    water: 'Wasser',
  },
}
