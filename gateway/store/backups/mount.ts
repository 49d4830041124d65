import { readFileSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Where sticks and other disks go: an empty folder there lies on the card of the system. */
const FOR_DISKS = /^\/(media|mnt)(\/|$)/

/** Why a folder is not to be written because no disk is mounted there, in words; null when that is in order. */
export function mountFault(path: string, mustBeMounted: boolean, mounts = readMounts()): string | null {
  const real = realPath(path)
  const isForDisks = FOR_DISKS.test(real) || FOR_DISKS.test(resolve(path))
  if (!isForDisks && !mustBeMounted) return null
  const mount = mounts.filter((point) => real === point || real.startsWith(`${point}/`) || point === '/')
  const nearest = mount.reduce((longest, point) => (point.length > longest.length ? point : longest), '')
  const isMounted = isForDisks ? FOR_DISKS.test(nearest) : nearest !== '' && nearest !== '/'
  return isMounted ? null : `no disk is mounted at ${path}: put it in, or mount it`
}

/** With what is not there yet at its end. */
function realPath(path: string): string {
  const full = resolve(path)
  try {
    return realpathSync(full)
  } catch {
    const parent = dirname(full)
    return parent === full ? full : resolve(realPath(parent), full.slice(parent.length).replace(/^\//, ''))
  }
}

function readMounts(): string[] {
  try {
    return (
      readFileSync('/proc/self/mounts', 'utf8')
        .split('\n')
        .map((line) => line.split(' ')[1] ?? '')
        .filter((point) => point !== '')
        // a space in a name is \040
        .map((point) =>
          point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
        )
    )
  } catch {
    return []
  }
}
