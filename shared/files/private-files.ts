import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { ConfigError, describeError } from '#shared/errors.ts'

/** The permissions of everybody but the owner. */
const OTHERS = 0o077
const STICKY = 0o1000

/**
 * Makes the data folder of a program, 0700. In one that is there, closes to others what they may open: the folder, and
 * of what is in it the entries of the program, `names`; the first of them is always there once the program has run.
 * Throws an `Error` in words when it cannot, a `ConfigError` when the folder is another user's or in use for other
 * things.
 */
export function preparePrivateFolder(folder: string, names: readonly [string, ...string[]]): void {
  try {
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
    // not `recursive`, which says "no such file" of a read-only file system
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
    if (!statSync(folder).isDirectory()) throw new Error('a file has its name')
  } catch (error) {
    throw folderFault(`the data folder ${folder} cannot be made`, error)
  }
  if (isOpen(folder)) {
    const fault = whyNotToClose(folder, names[0])
    if (fault !== undefined)
      throw new ConfigError(`others may read the data folder ${folder}, ${fault}: chmod 700 it, or choose another one`)
  }
  close(folder)
  for (const name of names) restrictToOwner(join(folder, name))
}

/** Closes a file, or a folder with all it holds, to everybody but the owner. Throws an `Error` in words. */
export function restrictToOwner(path: string): void {
  if (!existsSync(path)) return
  close(path)
  if (!statSync(path).isDirectory()) return
  for (const entry of readdirSync(path)) restrictToOwner(join(path, entry))
}

/** A folder of others, or for other things, must not become unreadable for those who use it. */
function whyNotToClose(folder: string, ownName: string): string | undefined {
  const { mode, uid } = statSync(folder)
  if (uid !== userInfo().uid) return 'and it belongs to another user'
  if ((mode & STICKY) !== 0) return 'and it is there for everybody'
  const entries = readdirSync(folder)
  if (entries.length > 0 && !entries.includes(ownName)) return 'and it holds other files'
  return undefined
}

function close(path: string): void {
  if (!isOpen(path)) return
  try {
    chmodSync(path, statSync(path).mode & 0o700)
  } catch (error) {
    throw folderFault(`others may read ${path}, and that cannot be changed`, error)
  }
  // as on file systems without permissions
  if (isOpen(path)) throw new ConfigError(`others may read ${path}, and its file system cannot change that`)
}

/**
 * What only a person can change: another folder, another owner. A disk that is full or read-only may be so for a while.
 */
const SETTING_FAULTS = ['EACCES', 'EPERM', 'EEXIST', 'ENOTDIR']

/** Says in words why a data folder cannot be used: a `ConfigError` when no later start would do better. */
export function folderFault(words: string, error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const Fault = SETTING_FAULTS.includes(code) ? ConfigError : Error
  return new Fault(`${words}: ${describeError(error)}`, { cause: error })
}

function isOpen(path: string): boolean {
  return (statSync(path).mode & OTHERS) !== 0
}
