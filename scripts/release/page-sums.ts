import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../gateway/store/pages/', import.meta.url))
const HEADERS = fileURLToPath(new URL('../../node_modules/better-sqlite3/deps/sqlite3/', import.meta.url))
const SOURCE = `${FOLDER}extension.c`

/** Compiler of each system, by Node's name of the system; on Debian from the packages gcc and gcc-aarch64-linux-gnu. */
export const COMPILERS: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-linux-gnu-gcc',
  'linux-arm64': 'aarch64-linux-gnu-gcc',
}

/** Returns the path of the extension of a system. */
export function binaryOf(system: string): string {
  return `${FOLDER}page-sums-${system}.so`
}

/** Returns the mark in a binary that identifies its source. */
export function markOfSource(): string {
  return `page-sums source ${createHash('sha256').update(readFileSync(SOURCE)).digest('hex')}`
}

/**
 * Compiles a system's extension into `target`. Names no library, to use glibc or musl. Throws the compiler's output.
 */
export function buildPageSums(system: string, target: string): void {
  const [, sha256] = markOfSource().split(' source ')
  const { status, stderr, error } = spawnSync(
    COMPILERS[system] ?? 'cc',
    [
      '-O2',
      '-fPIC',
      '-shared',
      '-nostdlib',
      '-fvisibility=hidden',
      '-s',
      '-Wall',
      '-Wextra',
      '-Werror',
      `-I${HEADERS}`,
      `-DSOURCE_SHA256="${sha256}"`,
      SOURCE,
      '-o',
      target,
    ],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`could not compile for ${system}: ${error?.message ?? stderr}`)
}
