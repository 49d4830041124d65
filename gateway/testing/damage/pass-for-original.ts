import { existsSync } from 'node:fs'
import { databasePath } from '#store/db/files.ts'
import { noteOpenFile, openFileOf } from '#store/db/open-marker.ts'

/**
 * Makes a copied folder pass for the original, as a kill or a power cut left it; otherwise it would be rejected as a
 * copy.
 */
export function passForOriginal(dataDir: string): void {
  const path = databasePath(dataDir)
  if (existsSync(openFileOf(path))) noteOpenFile(path)
}
