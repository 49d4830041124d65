/** How a browser shows the app: what a test runs with. */
export interface Look {
  size: 'tablet' | 'phone'
  scheme: 'light' | 'dark'
  /** Of the browser; the site may say otherwise. */
  locale: string
  timeZone: string
}

/** CSS pixels of an upright phone and of a tablet that lies. */
export const SIZES = { tablet: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } } as const

export const USUAL_LOOK: Look = { size: 'tablet', scheme: 'light', locale: 'en-GB', timeZone: 'UTC' }

/** Both sizes and both schemes: set CARTBARN_TEST_LONG=1 for each size in each scheme. */
export const LOOKS: readonly Look[] = [
  USUAL_LOOK,
  { ...USUAL_LOOK, size: 'phone', scheme: 'dark' },
  ...(process.env.CARTBARN_TEST_LONG === undefined
    ? []
    : [
        { ...USUAL_LOOK, scheme: 'dark' as const },
        { ...USUAL_LOOK, size: 'phone' as const },
      ]),
]
