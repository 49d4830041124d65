import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { ConfigError, describeError } from '#shared/errors.ts'

/** Permission bits of group and others. */
const OTHERS = 0o077
const STICKY = 0o1000

/**
 * Creates the data folder of a program with mode 0700. In an existing one, removes the access of others to the folder
 * and to the entries of the program, `names`, of which the first exists once the program has run. Throws a readable
 * `Error` on failure, and a `ConfigError` if the folder belongs to another user or serves another purpose.
 */
export function preparePrivateFolder(folder: string, names: readonly [string, ...string[]]): void {
  try {
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
    // not `recursive`, which reports "no such file" on a read-only file system
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
    if (!statSync(folder).isDirectory()) throw new Error('a file with this name exists')
  } catch (error) {
    throw folderFault(`cannot create the data folder ${folder}`, error)
  }
  if (isOpen(folder)) {
    const fault = whyNotToClose(folder, names[0])
    if (fault !== undefined)
      throw new ConfigError(`others may read the data folder ${folder}, ${fault}: chmod 700 it, or choose another one`)
  }
  close(folder)
  for (const name of names) restrictToOwner(join(folder, name))
}

/** Removes the access of group and others to a file, or to a folder with its content. Throws a readable `Error`. */
export function restrictToOwner(path: string): void {
  if (!existsSync(path)) return
  close(path)
  if (!statSync(path).isDirectory()) return
  for (const entry of readdirSync(path)) restrictToOwner(join(path, entry))
}

/** Protects folders of other users or purposes, which must stay readable for those who use them. */
function whyNotToClose(folder: string, ownName: string): string | undefined {
  const { mode, uid } = statSync(folder)
  if (uid !== userInfo().uid) return 'and it belongs to another user'
  if ((mode & STICKY) !== 0) return 'and it is a shared folder'
  const entries = readdirSync(folder)
  if (entries.length > 0 && !entries.includes(ownName)) return 'and it holds other files'
  return undefined
}

function close(path: string): void {
  if (!isOpen(path)) return
  try {
    chmodSync(path, statSync(path).mode & 0o700)
  } catch (error) {
    throw folderFault(`others may read ${path}, and its permissions cannot be changed`, error)
  }
  // happens on file systems without permissions
  if (isOpen(path)) throw new ConfigError(`others may read ${path}, and its file system cannot change that`)
}

/** Faults that only the operator can fix, with another folder or owner. A full or read-only disk may recover. */
const SETTING_FAULTS = ['EACCES', 'EPERM', 'EEXIST', 'ENOTDIR']

/** Describes why a data folder cannot be used: a `ConfigError` if a restart would not help. */
export function folderFault(words: string, error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const Fault = SETTING_FAULTS.includes(code) ? ConfigError : Error
  return new Fault(`${words}: ${describeError(error)}`, { cause: error })
}

function isOpen(path: string): boolean {
  return (statSync(path).mode & OTHERS) !== 0
}
