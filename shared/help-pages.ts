/**
 * Pages of docs/ served to users at `/help/NAME`, in the order of the list there. A new entry needs no other change.
 */
export const HELP_PAGES = [
  'dashboard',
  'alerts',
  'barn',
  'course',
  'trips-and-history',
  'when-something-is-wrong',
  'operation',
  'settings',
  'monitoring',
  'backup',
  'copied-data',
  'upgrade',
  'clock',
  'container',
  'security',
  'limits',
  'mqtt',
  'head-office',
  'hub',
] as const
export type HelpPage = (typeof HELP_PAGES)[number]

/** Page, or a heading within a page by its URL fragment. */
export type HelpPlace = HelpPage | `${HelpPage}#${string}`

export function helpAddress(place: HelpPlace): string {
  return `/help/${place}`
}
