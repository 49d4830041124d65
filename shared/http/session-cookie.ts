import { parse, serialize } from 'hono/utils/cookie'

/** Cookie that replaces a key in a browser. */
export const SESSION_COOKIE = 'cartbarn_session'
/** 400 days, the maximum that browsers allow. */
const MAX_AGE_S = 400 * 86_400

/** Returns the session token of a `Cookie` header; undefined without one. */
export function sessionTokenIn(cookies: string | undefined): string | undefined {
  return cookies === undefined ? undefined : parse(cookies, SESSION_COOKIE)[SESSION_COOKIE]
}

/** `Set-Cookie` of a session: hidden from scripts, not sent by other sites, and with TLS never sent unencrypted. */
export function sessionCookie(token: string, isSecure: boolean): string {
  return serialize(SESSION_COOKIE, token, {
    path: '/',
    maxAge: MAX_AGE_S,
    httpOnly: true,
    sameSite: 'Strict',
    secure: isSecure,
  })
}

/** `Set-Cookie` that deletes the session from the browser. */
export function clearedSessionCookie(isSecure: boolean): string {
  return serialize(SESSION_COOKIE, '', {
    path: '/',
    maxAge: 0,
    httpOnly: true,
    sameSite: 'Strict',
    secure: isSecure,
  })
}
