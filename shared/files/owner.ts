import { closeSync, constants, fchownSync, fstatSync, lchownSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { platform, userInfo } from 'node:os'

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants

interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * When running as root, gives files in a folder that belong to root to the user who owns the folder, who otherwise
 * could not open them. Follows no link that this user may have created, and opens no file: closing one would release
 * the locks that this process holds on it. Does nothing for other users.
 */
export function changeOwner(folder: string): void {
  if (!isRoot()) return
  const opened = openSync(folder, O_RDONLY | O_DIRECTORY)
  try {
    const owner = fstatSync(opened)
    if (owner.uid !== 0) giveBelow(opened, owner)
  } finally {
    closeSync(opened)
  }
}

function isRoot(): boolean {
  try {
    return platform() === 'linux' && userInfo().uid === 0
  } catch {
    // a user without a name on this system, as in a container
    return false
  }
}

function giveBelow(folder: number, owner: Owner): void {
  // through the open descriptor: the path may point to another folder by now
  const here = `/proc/self/fd/${folder}`
  for (const { name } of readdirSync(here, { withFileTypes: true })) giveOne(`${here}/${name}`, owner)
}

function giveOne(path: string, owner: Owner): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) giveFolder(path, owner)
  // a file with a second hard link may belong elsewhere
  else if (found?.isFile() && found.uid === 0 && found.nlink === 1) lchownSync(path, owner.uid, owner.gid)
}

function giveFolder(path: string, owner: Owner): void {
  const opened = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    giveBelow(opened, owner)
    if (fstatSync(opened).uid === 0) fchownSync(opened, owner.uid, owner.gid)
  } finally {
    closeSync(opened)
  }
}
