import { closeSync, constants, existsSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Where sticks and other disks go: an empty folder there lies on the card of the system. */
const FOR_DISKS = /^\/(media|mnt)(\/|$)/
/** Opens a folder that may not be read, too. Source: open(2); Node has no name for it. */
const O_PATH = 0o10000000

/** A mount, as /proc/self/mountinfo lists it. Source: proc_pid_mountinfo(5). */
interface Mount {
  /** Major and minor number of the file system: a bind mount has those of what it shows. */
  readonly device: string
  /** Read-only here, though its file system is not: so does the sandbox of a service. */
  readonly isShownReadOnly: boolean
}

/** What decides whether a disk has to be mounted at a folder. */
export interface MountRule {
  /** Also elsewhere than under /media and /mnt, and another disk than that of `dataDir`. */
  readonly mustBeMounted: boolean
  readonly dataDir?: string | undefined
}

/**
 * Why a folder is not to be written because no disk is mounted there, in words; null when that is in order. File
 * systems are compared, not mount points: the sandbox of a service makes mount points of /media, /mnt and whatever it
 * may write.
 */
export function mountFault(path: string, { mustBeMounted, dataDir }: MountRule): string | null {
  if (!isForDisks(path) && !mustBeMounted) return null
  const device = mountOf(path)?.device
  const others = ['/', ...(mustBeMounted && dataDir !== undefined ? [dataDir] : [])]
  const isMounted = device !== undefined && others.every((other) => mountOf(other)?.device !== device)
  return isMounted ? null : `no disk is mounted at ${path}: put it in, or mount it`
}

/** True if disks are mounted there, whose content others may have written. */
export function isForDisks(path: string): boolean {
  return FOR_DISKS.test(resolve(path)) || FOR_DISKS.test(realpathSync(nearestThere(path)))
}

/** True if a sandbox makes it read-only for this process, and the file system itself is not. */
export function isShownReadOnly(path: string): boolean {
  return mountOf(path)?.isShownReadOnly ?? false
}

/** The mount that a path is on; undefined where the system does not say. */
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

/** Reading a folder also mounts what is mounted when it is used. */
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

/** The path, or the nearest folder above it that is there. */
function nearestThere(path: string): string {
  const full = resolve(path)
  return existsSync(full) || full === dirname(full) ? full : nearestThere(dirname(full))
}
