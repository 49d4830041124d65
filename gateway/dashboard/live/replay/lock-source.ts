import type { LockEventJson, LockSource } from '#shared/wire/lock-events.ts'

/**
 * "RFID tag 04A1B2C3", "from afar, Jane": with what a lock was used, and who it was as far as the gateway tells it
 * here.
 */
export function lockSourceOf(
  { source, code, metadata }: LockEventJson,
  names: Readonly<Record<LockSource, string>>,
): string {
  const who = typeof metadata?.name === 'string' ? metadata.name : ''
  const parts = [code === undefined ? names[source] : `${names[source]} ${code}`, who]
  return parts.filter((part) => part !== '').join(', ')
}
