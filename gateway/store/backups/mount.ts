import { closeSync, constants, existsSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Folders where sticks and other disks are mounted: an unmounted folder there is on the card of the system. */
const FOR_DISKS = /^\/(media|mnt)(\/|$)/
/** Flag that also opens a folder without read permission. Source: open(2); Node has no name for it. */
const O_PATH = 0o10000000

/** Mount in /proc/self/mountinfo. Source: proc_pid_mountinfo(5). */
interface Mount {
  /** Major and minor number of the file system: a bind mount has those of its source. */
  readonly device: string
  /** True if the mount is read-only and its file system is not, as in the sandbox of a service. */
  readonly isShownReadOnly: boolean
}

/** Conditions under which a disk must be mounted at a folder. */
export interface MountRule {
  /** Requires a disk outside of /media and /mnt too, different from the disk of `dataDir`. */
  readonly mustBeMounted: boolean
  readonly dataDir?: string | undefined
}

/**
 * Reason why a folder must not be written because no disk is mounted there; null if it may be written. Compares file
 * systems, not mount points: the sandbox of a service creates mount points for /media, /mnt and writable folders.
 */
export function mountFault(path: string, { mustBeMounted, dataDir }: MountRule): string | null {
  if (!isForDisks(path) && !mustBeMounted) return null
  const device = mountOf(path)?.device
  const others = ['/', ...(mustBeMounted && dataDir !== undefined ? [dataDir] : [])]
  const isMounted = device !== undefined && others.every((other) => mountOf(other)?.device !== device)
  return isMounted ? null : `no disk is mounted at ${path}: put it in, or mount it`
}

/** True if disks are mounted there, whose content other programs may have written. */
export function isForDisks(path: string): boolean {
  return FOR_DISKS.test(resolve(path)) || FOR_DISKS.test(realpathSync(nearestThere(path)))
}

/** True if a sandbox makes it read-only for this process, and the file system itself is writable. */
export function isShownReadOnly(path: string): boolean {
  return mountOf(path)?.isShownReadOnly ?? false
}

/** Returns the mount of a path; undefined if the system does not report it. */
function mountOf(path: string): Mount | undefined {
  try {
    const file = openAny(nearestThere(path))
    try {
      const [, id] = /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, 'utf8')) ?? []
      const line = readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .find((each) => each.startsWith(`${id} `))
      return line === undefined ? undefined : readMount(line)
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}

/** Opens a path; reading a folder also triggers an automount. */
function openAny(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return openSync(path, O_PATH)
  }
}

function readMount(line: string): Mount {
  const [fields = '', fileSystem = ''] = line.split(' - ')
  const [, , device = '', , , options = ''] = fields.split(' ')
  const [, , superOptions = ''] = fileSystem.split(' ')
  const isReadOnly = (text: string) => text.split(',').includes('ro')
  return { device, isShownReadOnly: isReadOnly(options) && !isReadOnly(superOptions) }
}

/** Returns the path, or its nearest existing parent folder. */
function nearestThere(path: string): string {
  const full = resolve(path)
  return existsSync(full) || full === dirname(full) ? full : nearestThere(dirname(full))
}

/** True if a folder, or the one in which it will be created, is on the disk of the data folder. */
export function isOnDiskOf(dataDir: string, target: string): boolean {
  const device = deviceAt(target) ?? deviceAt(dirname(target))
  return device !== undefined && device === deviceAt(dataDir)
}

function deviceAt(path: string): number | undefined {
  try {
    return statSync(path).dev
  } catch {
    return undefined
  }
}
