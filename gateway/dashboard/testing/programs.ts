import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns the first of these programs that is installed. */
export function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}

/**
 * Returns the reason to skip tests that need a missing program; false if nothing is missing. With `CI` set tests fail
 * in place of being skipped, so that they cannot disappear unnoticed.
 */
export function skipReason(missing: string | undefined, { CI = '' } = process.env): string | false {
  const isCi = CI !== ''
  return missing === undefined || isCi ? false : missing
}
