/**
 * The pages of docs/ that the gateway serves at `/help/NAME`, for the people of a course, in the order in which they
 * are listed there. A page that is new here needs nothing else.
 */
export const HELP_PAGES = [
  'dashboard',
  'alerts',
  'barn',
  'course',
  'trips-and-history',
  'when-something-is-wrong',
  'operation',
  'security',
  'mqtt',
  'head-office',
] as const
export type HelpPage = (typeof HELP_PAGES)[number]

/** A page, or a heading of one by the name that it has in an address. */
export type HelpPlace = HelpPage | `${HelpPage}#${string}`

/** Where the gateway serves it. */
export function helpAddress(place: HelpPlace): string {
  return `/help/${place}`
}
