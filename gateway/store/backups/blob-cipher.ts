import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  scryptSync,
  timingSafeEqual,
} from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { BackupHeader } from '#shared/wire/backups.ts'
import { BackupFault } from './backup-fault.ts'

/** Value of `version` in a header that this program writes and reads. */
export const BACKUP_VERSION = 1

const COST = 1 << 15
const BLOCK_SIZE = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Maximum bytes of an uncompressed chunk: some megabytes of rows, or one row. No program has written more. */
export const MOST_PART_BYTES = 64 << 20
/** Maximum bytes of a manifest: enough for some hundred thousand chunks, which are some hundred gigabytes. */
export const MOST_MANIFEST_BYTES = 32 << 20
/** Maximum bytes of any compressed content; incompressible content grows a little. */
export const MOST_SEALED_BYTES = MOST_PART_BYTES + (1 << 20)

interface Keys {
  readonly seal: Buffer
  readonly name: Buffer
}

/**
 * Compresses the chunks of a backup, names each by its content, and encrypts it if there is a passphrase: AES-256-GCM
 * with a key derived by scrypt. Names are then keyed too, so that they reveal nothing about the content.
 */
export class BlobCipher {
  readonly #keys: Keys | null

  private constructor(keys: Keys | null) {
    this.#keys = keys
  }

  static begin(passphrase: string | undefined): { header: BackupHeader; cipher: BlobCipher } {
    const shared = { format: 'cartbarn-backup', version: BACKUP_VERSION } as const
    if (passphrase === undefined) return { header: { ...shared, encryption: null }, cipher: new BlobCipher(null) }
    const salt = randomBytes(16).toString('base64')
    const { keys, check } = derive(passphrase, salt, COST, BLOCK_SIZE)
    return {
      header: { ...shared, encryption: { kdf: 'scrypt', salt, cost: COST, blockSize: BLOCK_SIZE, check } },
      cipher: new BlobCipher(keys),
    }
  }

  /** Returns the cipher of an existing set. Throws `BackupFault` for a wrong passphrase, or a missing one. */
  static open({ encryption }: BackupHeader, passphrase: string | undefined): BlobCipher {
    if (encryption === null) return new BlobCipher(null)
    if (passphrase === undefined) throw new BackupFault('the backup is encrypted: give the passphrase it was made with')
    const { salt, cost, blockSize, check } = encryption
    const derived = derive(passphrase, salt, cost, blockSize)
    if (derived.check !== check) throw new BackupFault('the passphrase is not the one that the backup was made with')
    return new BlobCipher(derived.keys)
  }

  get isEncrypted(): boolean {
    return this.#keys !== null
  }

  /** Returns the name of a chunk with this content. */
  idOf(plain: Buffer): string {
    const hash = this.#keys === null ? createHash('sha256') : createHmac('sha256', this.#keys.name)
    return hash.update(plain).digest('hex')
  }

  seal(id: string, plain: Buffer): Buffer {
    const packed = zstdCompressSync(plain)
    if (this.#keys === null) return packed
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.seal, nonce).setAAD(Buffer.from(id))
    const sealed = Buffer.concat([cipher.update(packed), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
  }

  /** Opens the content of this name. Throws `BackupFault` if a bit differs or it decompresses to over `mostBytes`. */
  open(id: string, sealed: Buffer, mostBytes: number): Buffer {
    let plain: Buffer
    try {
      // zlib does not accept a limit of 0
      plain = zstdDecompressSync(this.#decrypted(id, sealed), { maxOutputLength: Math.max(1, mostBytes) })
    } catch (error) {
      throw new BackupFault(`a chunk of the backup is damaged or was altered (${id.slice(0, 12)})`, {
        cause: error,
      })
    }
    return plain
  }

  /** Opens a chunk, which is named by its content, like `open`. */
  openNamed(id: string, sealed: Buffer, mostBytes: number): Buffer {
    const plain = this.open(id, sealed, Math.min(mostBytes, MOST_PART_BYTES))
    if (!timingSafeEqual(Buffer.from(this.idOf(plain)), Buffer.from(id)))
      throw new BackupFault(`a chunk of the backup does not match its name (${id.slice(0, 12)})`)
    return plain
  }

  #decrypted(id: string, sealed: Buffer): Buffer {
    if (this.#keys === null) return sealed
    const nonce = sealed.subarray(0, NONCE_BYTES)
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#keys.seal, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(id)).setAuthTag(tag)
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
  }
}

function derive(passphrase: string, salt: string, cost: number, blockSize: number): { keys: Keys; check: string } {
  const bytes = scryptSync(passphrase.normalize('NFC'), Buffer.from(salt, 'base64'), 96, {
    cost,
    blockSize,
    parallelization: 1,
    maxmem: 256 * cost * blockSize,
  })
  return {
    keys: { seal: bytes.subarray(0, 32), name: bytes.subarray(32, 64) },
    check: bytes.subarray(64).toString('base64'),
  }
}
