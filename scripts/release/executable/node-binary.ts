import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
const VERSION = '24.21.0'

/** Node of each system, with the SHA-256 of its binary: executables are made from no other. */
const BINARIES = {
  'linux-x64': '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
  'linux-arm64': '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
} as const

/** Target system of an executable. */
export type System = keyof typeof BINARIES
export const SYSTEMS = ['linux-x64', 'linux-arm64'] as const satisfies readonly System[]

/**
 * Returns the folder of the npm package with the Node of a system: installed with `node`, else fetched by `npm pack`.
 * Not a dependency: the one for arm64 would replace the binary of this machine.
 */
export function nodeFolder(
  system: System,
  root: string = ROOT,
  sums: Readonly<Record<System, string>> = BINARIES,
): string {
  const name = `node-${system}`
  const cache = join(root, 'node_modules/.cache', `${name}-${VERSION}`)
  const installed = join(root, 'node_modules/node/node_modules', name)
  const folder = [installed, join(cache, 'package')].find((one) => isRight(one, sums[system]))
  if (folder !== undefined) return folder
  mkdirSync(cache, { recursive: true })
  const args = ['pack', '--silent', '--pack-destination', cache, `${name}@${VERSION}`]
  const file = execFileSync('npm', args, { encoding: 'utf8' }).trim()
  execFileSync('tar', ['-xzf', join(cache, file), '-C', cache])
  const fetched = join(cache, 'package')
  if (!isRight(fetched, sums[system])) throw new Error(`the Node of ${name}@${VERSION} is not the one known here`)
  return fetched
}

function isRight(folder: string, sum: string): boolean {
  const path = join(folder, 'bin/node')
  if (!existsSync(path)) return false
  return createHash('sha256').update(readFileSync(path)).digest('hex') === sum
}
