import { statSync } from 'node:fs'
import { CommandError } from '#scripts/cli/command.ts'
import { describeError } from '#shared/errors.ts'

/**
 * As root, goes on as the owner of a data folder: what a command leaves in it must be the gateway's to read and to
 * write. Settings and secrets are read before. Throws a `CommandError` for a root that may not, as in a container
 * without privileges.
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
