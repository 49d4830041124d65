const TRIED = 'cartbarn-cookies=1; Path=/app; SameSite=Strict'

/** False in a browser that stores no cookies: a session there would end with the response that opened it. */
export function keepsCookies(): boolean {
  // biome-ignore lint/suspicious/noDocumentCookie: the test needs exactly this
  document.cookie = TRIED
  const isKept = document.cookie.includes('cartbarn-cookies=1')
  // biome-ignore lint/suspicious/noDocumentCookie: and removed again
  document.cookie = `${TRIED}; Max-Age=0`
  return isKept
}
