const DIFFERENT_CHARACTERS = 8

/** What makes a key that somebody chose easy to guess, in words that follow the name of a setting; undefined if nothing does. */
export function weakKeyFault(key: string): string | undefined {
  if (new Set(key).size < DIFFERENT_CHARACTERS)
    return `must have at least ${DIFFERENT_CHARACTERS} different characters`
  for (let length = 1; length <= key.length / 2; length++)
    if (key.startsWith(key.slice(length))) return 'must not be a short text that is repeated'
  return undefined
}
