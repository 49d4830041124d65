import type { MeJson } from '#shared/wire/sessions.ts'

/** The name by which a browser that gives the key of the file continues the set-up. */
export const SETUP_SESSION = 'setup'

/** True until the owner has signed in with the own key: a reload on the way there continues the set-up. */
export function isFirstSetUp({ session }: MeJson): boolean {
  return session?.is_set_up === true
}

/** Every time zone that the browser knows by name, its own first; older ones know no list. */
export function timeZones(): { own: string; all: readonly string[] } {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
  return { own, all: Intl.supportedValuesOf('timeZone') }
}
