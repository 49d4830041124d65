import { statSync } from 'node:fs'

/**
 * As root, goes on as the owner of a data folder: what a command leaves in it must be the gateway's to read and to write.
 * Settings and secrets are read before.
 */
export function actAsOwnerOf(dataDir: string): void {
  if (process.getuid?.() !== 0) return
  const owner = statSync(dataDir, { throwIfNoEntry: false })
  if (owner === undefined || owner.uid === 0) return
  process.setgroups?.([owner.gid])
  process.setgid?.(owner.gid)
  process.setuid?.(owner.uid)
}
