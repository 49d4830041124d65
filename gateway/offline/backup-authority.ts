import { readAuthority } from '#shared/authority/authority.ts'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'

/** More characters than any authority has. */
const MOST_CHARACTERS = 20_000

/** `missing`: neither backup nor folder has an authority. `kept`: the folder has one, which tablets may trust. */
export type AuthorityRestored = 'restored' | 'kept' | 'missing'

/** Reads the authority of a data folder, as PEM; undefined without a usable one. */
export function usableAuthority(dataDir: string): string | undefined {
  try {
    const pem = new AuthorityFolder(dataDir).readAuthority()
    return isUsable(pem) ? pem : undefined
  } catch {
    return undefined
  }
}

/**
 * Writes the authority of a backup unless the folder has a usable one, then calls `replace`. If that throws, the
 * authority is removed again. Throws an `Error` with a readable message if it cannot be written.
 */
export function restoreAuthority(
  dataDir: string,
  authority: string | undefined,
  replace: () => void,
): AuthorityRestored {
  const isKept = usableAuthority(dataDir) !== undefined
  const folder = new AuthorityFolder(dataDir)
  const isRestored = !isKept && authority !== undefined && isUsable(authority)
  if (isRestored) folder.writeAuthority(authority)
  try {
    replace()
  } catch (error) {
    if (isRestored) folder.removeAuthority()
    throw error
  }
  return isKept ? 'kept' : isRestored ? 'restored' : 'missing'
}

function isUsable(pem: string): boolean {
  try {
    readAuthority(pem)
    return pem.length <= MOST_CHARACTERS
  } catch {
    return false
  }
}
