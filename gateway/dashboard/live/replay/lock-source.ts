import type { LockEventJson, LockSource } from '#shared/wire/lock-events.ts'

/** Source of a lock event, such as "RFID tag 04A1B2C3" or "from afar, Jane", if the gateway reveals the person. */
export function lockSourceOf(
  { source, code, metadata }: LockEventJson,
  names: Readonly<Record<LockSource, string>>,
): string {
  const who = typeof metadata?.name === 'string' ? metadata.name : ''
  const parts = [code === undefined ? names[source] : `${names[source]} ${code}`, who]
  return parts.filter((part) => part !== '').join(', ')
}
