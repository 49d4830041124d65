import { visibleHardwareIds } from '#domain/access.ts'
import { isPast } from '#services/people/deadline.ts'
import type { Login } from '#services/people/login.ts'
import type { Session } from '#services/people/session.ts'
import { SESSION_MS } from '#services/people/sessions.ts'
import { toIso } from '#shared/time.ts'
import { readVersion } from '#shared/version.ts'
import type { MeJson, SessionJson } from '#shared/wire/sessions.ts'
import { toSiteForScreensJson } from '#shared/wire/site-json.ts'
import type { CourseDeps, MachineDeps, PeopleDeps } from '../deps.ts'
import { toUserJson } from './user-json.ts'

type Parts = PeopleDeps & CourseDeps & MachineDeps

/** Converts a session to JSON, with its PIN user. */
export function toSessionJson(session: Session, parts: Pick<Parts, 'users' | 'clock'>): SessionJson {
  const { sessionId, userId, name, createdAtMs, lastUsedAtMs } = session.row
  return {
    session_id: sessionId,
    user_id: userId,
    name,
    person: toPersonJson(session, parts),
    created_at: toIso(createdAtMs),
    last_used_at: toIso(lastUsedAtMs),
    expires_at: toIso(lastUsedAtMs + SESSION_MS),
  }
}

function toPersonJson({ acting }: Session, { users, clock }: Pick<Parts, 'users' | 'clock'>): SessionJson['person'] {
  const person = acting === null ? undefined : users.find(acting.userId)
  if (acting === null || person === undefined || isPast(clock, acting.until)) return null
  const { userId, name } = person.row
  return { user_id: userId, name, role: person.caller.role, until: toIso(acting.until.atMs) }
}

/** Converts the caller and the current rights to JSON. */
export function toMeJson(login: Login, parts: Parts): MeJson {
  const { users, clock, startedAtMs, site } = parts
  const { userId } = login.row
  // the rights may have changed while this request ran
  const caller = login.callerNow() ?? login.caller
  const { session } = login
  return {
    user: toUserJson(users.require(userId)),
    role: caller.role,
    scope: visibleHardwareIds(caller)?.sort() ?? 'all',
    mqtt: { username: userId },
    session:
      session === null
        ? null
        : {
            session_id: session.row.sessionId,
            name: session.row.name,
            person: toPersonJson(session, parts),
            ...(session.isSetUp ? { is_set_up: true as const } : {}),
          },
    server_time: toIso(clock.nowMs()),
    started_at: toIso(startedAtMs()),
    version: readVersion().replace('cartbarn ', ''),
    site: toSiteForScreensJson(site.settings),
  }
}
