/** Viewport and appearance of a browser in a test. */
export interface ScreenSetup {
  size: 'tablet' | 'phone'
  scheme: 'light' | 'dark'
  /** Locale of the browser; the site may override it. */
  locale: string
  timeZone: string
}

/** CSS pixels of an upright phone and of a tablet in landscape. */
export const SIZES = { tablet: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } } as const

export const DEFAULT_SETUP: ScreenSetup = { size: 'tablet', scheme: 'light', locale: 'en-GB', timeZone: 'UTC' }

/** Each size in each colour scheme. */
export const ALL_SETUPS: readonly ScreenSetup[] = (['tablet', 'phone'] as const).flatMap((size) =>
  (['light', 'dark'] as const).map((scheme) => ({ ...DEFAULT_SETUP, size, scheme })),
)

/** Default set of tests: both sizes and both schemes. Set CARTBARN_TEST_LONG=1 for each size in each scheme. */
export const SETUPS: readonly ScreenSetup[] =
  process.env.CARTBARN_TEST_LONG === undefined
    ? ALL_SETUPS.filter(({ size, scheme }) => (size === 'tablet') === (scheme === 'light'))
    : ALL_SETUPS
