import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `nobody`: PostgreSQL refuses to be run by root. */
const NOBODY_UID = 65_534

/** Returns the user that runs PostgreSQL. */
export function identity(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: NOBODY_UID, gid: NOBODY_UID } : {}
}

/** Creates a folder owned by that user. */
export function makeFolder(prefix: string): string {
  const folder = mkdtempSync(prefix)
  const { uid } = identity()
  if (uid !== undefined) chownSync(folder, uid, uid)
  return folder
}

/** Copies a folder with its owner, replacing the target. */
export function copyFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`no copy of ${from}: ${stderr}`)
}

/**
 * Returns an empty cluster to copy, made once for each PostgreSQL and user: making one takes a second, copying it less.
 */
export function emptyCluster(native: string): string {
  const initdb = join(native, 'bin/initdb')
  const { mtimeMs, size } = statSync(initdb)
  const name = `cartbarn-postgres-empty-${Math.round(mtimeMs)}-${size}-${process.getuid?.() ?? 'user'}`
  const path = join(tmpdir(), name)
  if (existsSync(path)) return path
  const draft = makeFolder(`${path}-`)
  const cluster = join(draft, 'cluster')
  const { status, stderr } = spawnSync(
    initdb,
    ['-D', cluster, '-U', 'cartbarn', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...identity(), cwd: draft, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`)
  try {
    renameSync(cluster, path)
  } catch (error) {
    // another process was faster
    if (!existsSync(path)) throw error
  } finally {
    rmSync(draft, { recursive: true })
  }
  return path
}
