import { createHash, createPublicKey, verify } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The checksums of a release, as `sha256sum` prints them, and the signature of their bytes in base64. */
export const CHECKSUM_FILES = 'SHA256SUMS'
export const SIGNATURE = 'SHA256SUMS.sig'
const LINE = /^([0-9a-f]{64}) {2}([A-Za-z0-9][A-Za-z0-9._+~-]*)$/
/** A release has a handful of files. */
const MAX_BYTES = 64 * 1024
const CHUNK_BYTES = 1024 * 1024

/** Why a file must not be installed, in words for the person who wants to. */
export class ReleaseError extends Error {}

/**
 * Throws a `ReleaseError` unless a folder has all files of a release, as the owner of one of `keys` signed them, and no
 * other.
 */
export function verifyRelease(folder: string, keys: readonly string[]): void {
  const sums = signedSums(folder, keys)
  for (const [name, sum] of sums) checkFile(join(folder, name), sum)
  const found = readdirSync(folder, { withFileTypes: true }).filter((entry) => !entry.isDirectory())
  const other = found.find(({ name }) => !sums.has(name) && name !== CHECKSUM_FILES && name !== SIGNATURE)
  if (other !== undefined) throw new ReleaseError(`${other.name} is not a file of this release`)
}

/**
 * Throws a `ReleaseError` unless a file is the one that the sums beside it have, signed by the owner of one of `keys`.
 * With `copy`, a path at which nothing is yet, the bytes that were verified are there afterwards: others may write the
 * file itself.
 */
export function verifyReleaseFile(path: string, keys: readonly string[], copy?: string): void {
  const sum = signedSums(dirname(path), keys).get(basename(path))
  if (sum === undefined) throw new ReleaseError(`${basename(path)} is not in the ${CHECKSUM_FILES} beside it`)
  checkFile(path, sum, copy)
}

function signedSums(folder: string, keys: readonly string[]): ReadonlyMap<string, string> {
  const sums = read(folder, CHECKSUM_FILES)
  const signature = Buffer.from(read(folder, SIGNATURE).toString('latin1').trim(), 'base64')
  if (!keys.some((key) => isSigned(sums, signature, key)))
    throw new ReleaseError(
      `${CHECKSUM_FILES} is not signed by a key that this program trusts: take the files from their source again`,
    )
  return new Map(
    sums
      .toString('latin1')
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [, sum, name] = LINE.exec(line) ?? []
        if (sum === undefined || name === undefined)
          throw new ReleaseError(`a line of ${CHECKSUM_FILES} is not one of a release`)
        return [name, sum]
      }),
  )
}

function isSigned(content: Buffer, signature: Buffer, key: string): boolean {
  const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
  if (publicKey.asymmetricKeyType !== 'ed25519') throw new Error('a release key is not one of ed25519')
  return verify(null, content, publicKey, signature)
}

function read(folder: string, name: string): Buffer {
  const path = join(folder, name)
  let bytes: number | undefined
  try {
    const found = statSync(path)
    bytes = found.isFile() ? found.size : undefined
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  if (bytes === undefined) throw new ReleaseError(`there is no ${name} in ${folder}: put it there, beside the file`)
  if (bytes > MAX_BYTES) throw new ReleaseError(`${path} is not one of a release: it is too long`)
  return readFileSync(path)
}

function checkFile(path: string, sum: string, copy?: string): void {
  let found: string
  try {
    found = sha256OfFile(path, copy)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new ReleaseError(`${basename(path)} is missing`)
    throw error
  }
  if (found !== sum) throw new ReleaseError(`${basename(path)} was altered, or not copied as a whole`)
}

/**
 * The SHA-256 of a file, which may be larger than what one would hold in memory; of what was written to `copy`, if
 * given.
 */
export function sha256OfFile(path: string, copy?: string): string {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const file = openSync(path, 'r')
  const target = copy === undefined ? undefined : openSync(copy, 'wx', 0o600)
  try {
    // whoever writes on meanwhile must not fill the disk
    let left = fstatSync(file).size
    for (let bytes = readSync(file, chunk); bytes > 0 && left > 0; bytes = readSync(file, chunk)) {
      const read = chunk.subarray(0, bytes)
      hash.update(read)
      if (target !== undefined) writeFileSync(target, read)
      left -= bytes
    }
  } finally {
    closeSync(file)
    if (target !== undefined) closeSync(target)
  }
  return hash.digest('hex')
}
