import { existsSync } from 'node:fs'
import { databasePath } from '#store/db/files.ts'
import { noteOpenFile, openFileOf } from '#store/db/open-marker.ts'

/**
 * Makes a copied folder pass for the folder itself, as a kill or a power cut left it; else it would be refused as a
 * copy.
 */
export function passForOriginal(dataDir: string): void {
  const path = databasePath(dataDir)
  if (existsSync(openFileOf(path))) noteOpenFile(path)
}
