import { parse, serialize } from 'hono/utils/cookie'

/** What stands for a key in a browser. */
export const SESSION_COOKIE = 'cartbarn_session'
/** 400 days, the most that browsers keep one. */
const MAX_AGE_S = 400 * 86_400

/** The session that a header `Cookie` names; undefined without one. */
export function sessionTokenIn(cookies: string | undefined): string | undefined {
  return cookies === undefined ? undefined : parse(cookies, SESSION_COOKIE)[SESSION_COOKIE]
}

/** `Set-Cookie` of a session: no script reads it, no other site sends it, and under TLS it never goes in the clear. */
export function sessionCookie(token: string, isSecure: boolean): string {
  return serialize(SESSION_COOKIE, token, {
    path: '/',
    maxAge: MAX_AGE_S,
    httpOnly: true,
    sameSite: 'Strict',
    secure: isSecure,
  })
}

/** `Set-Cookie` that has a browser forget its session. */
export function clearedSessionCookie(isSecure: boolean): string {
  return serialize(SESSION_COOKIE, '', {
    path: '/',
    maxAge: 0,
    httpOnly: true,
    sameSite: 'Strict',
    secure: isSecure,
  })
}
