import { readFileSync } from 'node:fs'
import { isExecutable } from '#shared/program-files.ts'

/** Replaced by the bundler of the executable. */
declare const BUILT_RELEASE_KEYS: readonly string[]

/**
 * Public keys (SPKI in base64) that releases for this program may be signed with. An executable has them built in; from
 * sources they are read from the file named by CARTBARN_RELEASE_KEYS, one per line.
 */
export function releaseKeys(environment: Record<string, string | undefined>): readonly string[] {
  if (isExecutable) return BUILT_RELEASE_KEYS
  const { CARTBARN_RELEASE_KEYS: path = '' } = environment
  if (path === '') return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}
