import { hash } from 'node:crypto'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Command id of an intent: its own id if a UUID, else derived from it (RFC 9562, 5.8), so that its sender finds it. */
export function intentCommandId(intentId: string): string {
  if (UUID.test(intentId)) return intentId.toLowerCase()
  const digits = hash('sha256', intentId, 'hex')
  const variant = ((Number.parseInt(digits.charAt(16), 16) & 3) | 8).toString(16)
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    variant + digits.slice(17, 20),
    digits.slice(20, 32),
  ].join('-')
}
