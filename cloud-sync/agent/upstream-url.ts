/** What is wrong with the address of a hub, in words for people; null when the key may be sent there. */
export function upstreamUrlFault(text: string, isInsecureAllowed: boolean): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an https:// address'
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return 'must be a plain address, without user, query or fragment'
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !isInsecureAllowed)
    return 'must be https://, or the site key could be read on the way'
  return null
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
