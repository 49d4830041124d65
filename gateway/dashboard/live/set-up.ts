import type { MeJson } from '#shared/wire/sessions.ts'

/** What the gateway calls the session that the code of its first start opened. */
export const SETUP_SESSION = 'setup'

/** Whether this browser has come in by the code of the first start, and the course has no name yet. */
export function isFirstSetUp({ session, site, user }: MeJson): boolean {
  return session?.name === SETUP_SESSION && site.name === '' && user.role === 'admin'
}

/** Every time zone that the browser knows by name, its own first; older ones know no list. */
export function timeZones(): { own: string; all: readonly string[] } {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
  return { own, all: Intl.supportedValuesOf('timeZone') }
}
