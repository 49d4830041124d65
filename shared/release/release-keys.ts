import { readFileSync } from 'node:fs'
import { isExecutable } from '#shared/program-files.ts'

/** What the bundle of an executable puts in its place. */
declare const BUILT_RELEASE_KEYS: readonly string[]

/**
 * The public keys (SPKI in base64) of whoever may sign a release for this program: those built into an executable, from
 * sources those of the file that CARTBARN_RELEASE_KEYS names, a line each.
 */
export function releaseKeys(environment: Record<string, string | undefined>): readonly string[] {
  if (isExecutable) return BUILT_RELEASE_KEYS
  const { CARTBARN_RELEASE_KEYS: path = '' } = environment
  if (path === '') return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}
