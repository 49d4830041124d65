import { type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKSUM_FILES, SIGNATURE, sha256OfFile } from '#shared/release/verify-release.ts'

/** Writes the checksums of files in a folder into it, and their signature. */
export function writeSums(folder: string, names: readonly string[], privateKey: KeyObject): void {
  const lines = names.toSorted().map((name) => `${sha256OfFile(join(folder, name))}  ${name}\n`)
  const sums = Buffer.from(lines.join(''))
  writeFileSync(join(folder, CHECKSUM_FILES), sums)
  writeFileSync(join(folder, SIGNATURE), `${sign(null, sums, privateKey).toString('base64')}\n`)
}
