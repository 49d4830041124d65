import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Folder of this `npm test`, deleted at its end. */
const FOLDER = process.env.TEST_RUN_FOLDER

/**
 * Provides a slow result that is the same for all test files: the first one creates it, the others read its file. A
 * test file that runs alone creates it.
 */
export async function onceARun(name: string, make: () => Promise<Uint8Array | string>): Promise<Uint8Array | string> {
  if (FOLDER === undefined) return make()
  const path = join(FOLDER, name)
  if (!existsSync(path)) {
    // several test files may create it at the same time
    const draft = `${path}-${process.pid}`
    writeFileSync(draft, await make())
    renameSync(draft, path)
  }
  return readFileSync(path)
}
