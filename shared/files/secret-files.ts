import { readFileSync } from 'node:fs'
import { describeError } from '#shared/errors.ts'

const SUFFIX = '_FILE'

/**
 * Returns the settings in which each X of `names` has the content of the file that `X_FILE` names, and the faults, one
 * line each, after `prefix` and the name of the setting.
 */
export function withSecretFiles(
  settings: Readonly<Record<string, unknown>>,
  names: readonly string[],
  prefix: string,
): { settings: Record<string, unknown>; faults: string[] } {
  const read: Record<string, unknown> = { ...settings }
  const faults: string[] = []
  for (const name of names) {
    const path = settings[name + SUFFIX]
    if (typeof path !== 'string') continue
    delete read[name + SUFFIX]
    const fault = (words: string) => faults.push(`${prefix}${name}${SUFFIX}: ${words}`)
    if (name in settings) fault(`must not be given together with ${prefix}${name}`)
    else {
      try {
        read[name] = readSecretFile(path)
      } catch (error) {
        fault(describeError(error))
      }
    }
  }
  return { settings: read, faults }
}

/** Reads the secret in a file, without the line end. Throws a readable `Error` if the file holds none. */
export function readSecretFile(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot be read: ${describeError(error)}`, { cause: error })
  }
  const secret = text.replace(/(\r?\n)+$/, '')
  if (secret === '') throw new Error(`the file ${path} is empty`)
  return secret
}
