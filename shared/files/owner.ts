import { closeSync, constants, fchownSync, fstatSync, lchownSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { platform, userInfo } from 'node:os'

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants

interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * As root, gives what is root's in a folder to the user that the folder belongs to, who could not open it. It follows
 * no link that this user may have put there, and opens no file: closing one would end the locks that this process has
 * on it. Does nothing for others than root.
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
    // a user that the system has no name of, as in a container
    return false
  }
}

function giveBelow(folder: number, owner: Owner): void {
  // by the open folder: another one of the same name may be in its place by now
  const here = `/proc/self/fd/${folder}`
  for (const { name } of readdirSync(here, { withFileTypes: true })) giveOne(`${here}/${name}`, owner)
}

function giveOne(path: string, owner: Owner): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) giveFolder(path, owner)
  // a file with a second name may belong somewhere else
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
