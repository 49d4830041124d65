import type { ServiceReason } from '#shared/wire/carts.ts'

/** Words for the reasons of carts out of service, where staff give none. */
export const REASON_WORDS: Readonly<Record<'en' | 'de', Readonly<Record<ServiceReason, string>>>> = {
  en: {
    battery: 'Battery',
    brakes: 'Brakes',
    tyre: 'Tyre',
    steering: 'Steering',
    accident: 'Accident',
    cleaning: 'Cleaning',
    other: 'Other',
  },
  de: {
    battery: 'Batterie',
    brakes: 'Bremsen',
    tyre: 'Reifen',
    steering: 'Lenkung',
    accident: 'Unfall',
    cleaning: 'Reinigung',
    other: 'Sonstiges',
  },
}
