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

/** Each size in each scheme. */
export const ALL_LOOKS: readonly Look[] = (['tablet', 'phone'] as const).flatMap((size) =>
  (['light', 'dark'] as const).map((scheme) => ({ ...USUAL_LOOK, size, scheme })),
)

/** What tests run with: both sizes and both schemes. Set CARTBARN_TEST_LONG=1 for each size in each scheme. */
export const LOOKS: readonly Look[] =
  process.env.CARTBARN_TEST_LONG === undefined
    ? ALL_LOOKS.filter(({ size, scheme }) => (size === 'tablet') === (scheme === 'light'))
    : ALL_LOOKS
