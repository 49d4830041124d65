import { statSync } from 'node:fs'
import { CommandError } from '#scripts/cli/command.ts'
import { describeError } from '#shared/errors.ts'

/**
 * Switches root to the owner of a data folder: the gateway must be able to use the files that a command leaves there.
 * Settings and secrets are read before. Throws a `CommandError` if root may not (unprivileged container).
 */
export function actAsOwnerOf(dataDir: string): void {
  if (process.getuid?.() !== 0) return
  const owner = statSync(dataDir, { throwIfNoEntry: false })
  if (owner === undefined || owner.uid === 0) return
  try {
    process.setgroups?.([owner.gid])
    process.setgid?.(owner.gid)
    process.setuid?.(owner.uid)
  } catch (cause) {
    throw new CommandError(
      `this root may not act as the owner of ${dataDir} (${describeError(cause)}): run it as user ${owner.uid}`,
      { cause },
    )
  }
}
