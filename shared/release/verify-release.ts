import { createHash, createPublicKey, verify } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Checksums of a release as printed by `sha256sum`, and the signature of their bytes in base64. */
export const CHECKSUM_FILES = 'SHA256SUMS'
export const SIGNATURE = 'SHA256SUMS.sig'
const LINE = /^([0-9a-f]{64}) {2}([A-Za-z0-9][A-Za-z0-9._+~-]*)$/
/** Size limit of a checksum file; a release has only a few files. */
const MAX_BYTES = 64 * 1024
const CHUNK_BYTES = 1024 * 1024

/** Reason for which a file must not be installed; the message is for the operator. */
export class ReleaseError extends Error {}

/** Throws a `ReleaseError` unless the folder holds exactly the files of a release signed with one of `keys`. */
export function verifyRelease(folder: string, keys: readonly string[]): void {
  const sums = signedSums(folder, keys)
  for (const [name, sum] of sums) checkFile(join(folder, name), sum)
  const found = readdirSync(folder, { withFileTypes: true }).filter((entry) => !entry.isDirectory())
  const other = found.find(({ name }) => !sums.has(name) && name !== CHECKSUM_FILES && name !== SIGNATURE)
  if (other !== undefined) throw new ReleaseError(`${other.name} is not a file of this release`)
}

/**
 * Throws a `ReleaseError` unless the file matches the adjacent checksums, signed with one of `keys`. With `copy`, the
 * path of a new file, the verified bytes are stored there, because others may be able to write to the original.
 */
export function verifyReleaseFile(path: string, keys: readonly string[], copy?: string): void {
  const sum = signedSums(dirname(path), keys).get(basename(path))
  if (sum === undefined) throw new ReleaseError(`${basename(path)} is not listed in the adjacent ${CHECKSUM_FILES}`)
  checkFile(path, sum, copy)
}

function signedSums(folder: string, keys: readonly string[]): ReadonlyMap<string, string> {
  const sums = read(folder, CHECKSUM_FILES)
  const signature = Buffer.from(read(folder, SIGNATURE).toString('latin1').trim(), 'base64')
  if (!keys.some((key) => isSigned(sums, signature, key)))
    throw new ReleaseError(
      `${CHECKSUM_FILES} is not signed with a key that this program trusts: download the files again from their source`,
    )
  return new Map(
    sums
      .toString('latin1')
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [, sum, name] = LINE.exec(line) ?? []
        if (sum === undefined || name === undefined)
          throw new ReleaseError(`${CHECKSUM_FILES} contains an invalid line`)
        return [name, sum]
      }),
  )
}

function isSigned(content: Buffer, signature: Buffer, key: string): boolean {
  const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
  if (publicKey.asymmetricKeyType !== 'ed25519') throw new Error('a release key is not an ed25519 key')
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
  if (bytes === undefined) throw new ReleaseError(`${name} is missing in ${folder}: put it next to the file`)
  if (bytes > MAX_BYTES) throw new ReleaseError(`${path} is too long for a release file`)
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
  if (found !== sum) throw new ReleaseError(`${basename(path)} was modified, or copied incompletely`)
}

/** Returns the SHA-256 of a file, which may exceed the memory; with `copy`, of the bytes written there. */
export function sha256OfFile(path: string, copy?: string): string {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const file = openSync(path, 'r')
  const target = copy === undefined ? undefined : openSync(copy, 'wx', 0o600)
  try {
    // a process that keeps appending must not fill the disk
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
