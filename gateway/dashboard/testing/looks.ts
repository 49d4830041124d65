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

/** Both sizes, light and dark. */
export const LOOKS: readonly Look[] = (['tablet', 'phone'] as const).flatMap((size) =>
  (['light', 'dark'] as const).map((scheme) => ({ ...USUAL_LOOK, size, scheme })),
)
