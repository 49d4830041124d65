import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of this `npm test`, which deletes it at its end. */
const FOLDER = process.env.TEST_RUN_FOLDER

/**
 * What is the same for all test files and takes long to make: the first makes it, the others read its file. Where a
 * test file runs by itself, it is made.
 */
export async function onceARun(name: string, make: () => Promise<Uint8Array | string>): Promise<Uint8Array | string> {
  if (FOLDER === undefined) return make()
  const path = join(FOLDER, name)
  if (!existsSync(path)) {
    // several may make it at the same time
    const draft = `${path}-${process.pid}`
    writeFileSync(draft, await make())
    renameSync(draft, path)
  }
  return readFileSync(path)
}
