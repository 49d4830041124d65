import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The first of these programs that is installed. */
export function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}

/**
 * Why tests that need what is missing are skipped; false when nothing is missing. Where `CI` is set nothing is skipped
 * but fails: tests are not to vanish without anybody noticing.
 */
export function skipReason(missing: string | undefined, { CI = '' } = process.env): string | false {
  const isCi = CI !== ''
  return missing === undefined || isCi ? false : missing
}
