const BEARER = /^Bearer +(\S+) *$/i

/** Returns the token of a header `Authorization: Bearer TOKEN` (RFC 6750); undefined for any other. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1]
}
