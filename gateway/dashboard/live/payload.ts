/** Decodes the Base64 of a message for display: its text, or its bytes in hexadecimal if it is not UTF-8. */
export function readPayload(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them
    if (!/[\u0000-\u0008\u000e-\u001f]/.test(text)) return text
  } catch {
    // not UTF-8
  }
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
}
