import type { MeJson } from '#shared/wire/sessions.ts'

/** Session name with which a browser that supplies the key of the file continues the set-up. */
export const SETUP_SESSION = 'setup'

/** True until the owner has signed in with a personal key: a reload before that keeps the set-up open. */
export function isFirstSetUp({ session }: MeJson): boolean {
  return session?.is_set_up === true
}

/** Returns all time zones that the browser knows by name, its own first; older browsers have no list. */
export function timeZones(): { own: string; all: readonly string[] } {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
  return { own, all: Intl.supportedValuesOf('timeZone') }
}
