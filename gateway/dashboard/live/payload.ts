/** Base64 of a message as a person can look at it: its text, or its bytes in hexadecimal where it is none. */
export function readPayload(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    if (!/[\u0000-\u0008\u000e-\u001f]/.test(text)) return text
  } catch {
    // no text
  }
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
}
