import { describeError } from '#shared/errors.ts'
import {
  type BackupHeader,
  type BackupManifest,
  backupHeaderSchema,
  backupManifestSchema,
  PART_ID,
} from '#shared/wire/backups.ts'
import { BackupFault, UnreachableFault } from './backup-fault.ts'
import { BACKUP_VERSION, BlobCipher, MOST_MANIFEST_BYTES, MOST_PART_BYTES, MOST_SEALED_BYTES } from './blob-cipher.ts'
import type { BackupPlace } from './place.ts'

export const HEADER = 'cartbarn-backup.json'
const MOST_HEADER_BYTES = 64 * 1024
const SNAPSHOTS = 'snapshots'
const BLOBS = 'blobs'
const SNAPSHOT_NAME = /^snapshots\/(\d{6,15})-\d{8}T\d{6}Z$/

export interface Snapshot {
  readonly name: string
  readonly number: number
}

/** Headers of the sets that a gateway knows at its target, as JSON; it wrote no others. */
export interface SetMemory {
  /** Empty if the gateway knows no set yet; it then accepts the existing one. */
  readonly known: readonly string[]
  readonly remember: (header: string) => void
}

/**
 * All backups of one target: a header, `snapshots/` with a manifest each, and `blobs/` with the chunks. Manifests name
 * chunks by their content, so that each chunk is stored once, however many backups need it.
 */
export class BackupSet {
  readonly place: BackupPlace
  readonly cipher: BlobCipher
  readonly #header: BackupHeader

  private constructor(place: BackupPlace, header: BackupHeader, cipher: BlobCipher) {
    this.place = place
    this.#header = header
    this.cipher = cipher
  }

  /** Opens the set of an open target, or begins one. A passphrase requires an encrypted set. Throws `BackupFault`. */
  static async openOrBegin(
    place: BackupPlace,
    passphrase: string | undefined,
    { known, remember }: SetMemory = { known: [], remember: () => undefined },
  ): Promise<BackupSet> {
    const header = await readHeader(place)
    if (header === null) return BackupSet.#begin(place, passphrase, remember)
    if (passphrase !== undefined && header.encryption === null)
      throw new BackupFault(
        `${place.shown} has unencrypted backups, but a passphrase was given: nothing was written; choose ` +
          'another folder, or move the backups away',
      )
    const isKnown = known.length === 0 || known.includes(JSON.stringify(header))
    try {
      const set = await BackupSet.open(place, passphrase)
      // if two sticks are used alternately, each has a header of its own, and backups that belong to it
      if (!isKnown) await set.#requireBackup()
      remember(JSON.stringify(header))
      return set
    } catch (error) {
      if (isKnown || error instanceof UnreachableFault) throw error
      throw new BackupFault(
        `${place.shown}: ${HEADER} is not the one that this gateway wrote: nothing was written; put that file ` +
          'back, or choose another folder',
        { cause: error },
      )
    }
  }

  static async #begin(
    place: BackupPlace,
    passphrase: string | undefined,
    remember: SetMemory['remember'],
  ): Promise<BackupSet> {
    const { header, cipher } = BlobCipher.begin(passphrase)
    const set = new BackupSet(place, header, cipher)
    if ((await set.snapshots()).length > 0)
      throw new BackupFault(
        `${place.shown}: ${HEADER} is missing, and no backup there can be read without it: put it back, or ` +
          'choose another folder',
      )
    // first, so that the set is also known if writing its header was interrupted
    remember(JSON.stringify(header))
    await place.write(HEADER, Buffer.from(`${JSON.stringify(header, null, 2)}\n`))
    return set
  }

  /** Throws `BackupFault` if there is no set, a newer program made it, or the passphrase is wrong. */
  static async open(place: BackupPlace, passphrase: string | undefined): Promise<BackupSet> {
    const header = await readHeader(place)
    if (header === null) throw new BackupFault(`${place.shown} has no backup of cartbarn`)
    if (header.version > BACKUP_VERSION)
      throw new BackupFault(
        `${place.shown} was made by a newer cartbarn (format ${header.version}, this one knows ` +
          `${BACKUP_VERSION}): use that one`,
      )
    if (passphrase !== undefined && header.encryption === null)
      throw new BackupFault(
        `${place.shown} is not encrypted, though a passphrase was given: if it should be, it was replaced; if ` +
          'it was made without one, leave --passphrase-file out',
      )
    return new BackupSet(place, header, BlobCipher.open(header, passphrase))
  }

  get isEncrypted(): boolean {
    return this.#header.encryption !== null
  }

  /** Throws `BackupFault` unless its newest backup can be read. */
  async #requireBackup(): Promise<void> {
    const newest = (await this.snapshots()).at(-1)
    if (newest === undefined) throw new BackupFault('it has no backup')
    await this.readManifest(newest)
  }

  /** True if the target still has this header: if two gateways begin a set together, one overwrites the other's. */
  async isStillThere(): Promise<boolean> {
    const header = await readHeader(this.place)
    return JSON.stringify(header) === JSON.stringify(this.#header)
  }

  /** Returns all backups, oldest first. */
  async snapshots(): Promise<Snapshot[]> {
    const files = await this.place.list(SNAPSHOTS)
    return files
      .flatMap(({ name }) => {
        const number = SNAPSHOT_NAME.exec(name)?.[1]
        return number === undefined ? [] : [{ name, number: Number(number) }]
      })
      .sort((a, b) => a.number - b.number)
  }

  async readManifest({ name }: Snapshot): Promise<BackupManifest> {
    const sealed = await this.place.read(name, MOST_MANIFEST_BYTES)
    if (sealed === null) throw new BackupFault(`${this.place.shown}: ${name} is missing`)
    const plain = this.cipher.open(name, sealed, MOST_MANIFEST_BYTES)
    try {
      return backupManifestSchema.parse(JSON.parse(plain.toString()))
    } catch (error) {
      throw new BackupFault(`${this.place.shown}: ${name} is not in the format of this program`, { cause: error })
    }
  }

  async writeManifest(manifest: BackupManifest): Promise<Snapshot> {
    const { number, atMs } = manifest
    const at = new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '')
    const name = `${SNAPSHOTS}/${String(number).padStart(6, '0')}-${at}`
    const plain = Buffer.from(JSON.stringify(manifest))
    if (plain.length > MOST_MANIFEST_BYTES)
      throw new BackupFault(`${this.place.shown}: the database has too many chunks for a backup`)
    await this.place.write(name, this.cipher.seal(name, plain))
    return { name, number }
  }

  /** Returns the existing chunks and their sizes in bytes. */
  async blobs(): Promise<Map<string, number>> {
    const files = await this.place.list(BLOBS)
    return new Map(
      files.flatMap(({ name, bytes }) => {
        const id = name.slice(name.lastIndexOf('/') + 1)
        // all other names are ignored: a store may list anything
        return PART_ID.test(id) && name === blobName(id) ? [[id, bytes] as const] : []
      }),
    )
  }

  /** Returns the number of bytes stored. */
  async writeBlob(id: string, plain: Buffer): Promise<number> {
    if (plain.length > MOST_PART_BYTES)
      throw new BackupFault(`a row of the database has ${plain.length} bytes, which is too much for a backup`)
    const sealed = this.cipher.seal(id, plain)
    await this.place.write(blobName(id), sealed)
    return sealed.length
  }

  /** Content written under this name. Throws `BackupFault` if missing, damaged, altered or larger than `mostBytes`. */
  async readBlob(id: string, mostBytes: number): Promise<Buffer> {
    const sealed = await this.place.read(blobName(id), MOST_SEALED_BYTES)
    if (sealed === null) throw new BackupFault(`${this.place.shown}: a chunk is missing (${id.slice(0, 12)})`)
    return this.cipher.openNamed(id, sealed, mostBytes)
  }

  async removeBlob(id: string): Promise<void> {
    await this.place.remove(blobName(id))
  }
}

function blobName(id: string): string {
  return `${BLOBS}/${id.slice(0, 2)}/${id}`
}

async function readHeader(place: BackupPlace): Promise<BackupHeader | null> {
  const bytes = await place.read(HEADER, MOST_HEADER_BYTES)
  if (bytes === null) return null
  try {
    return backupHeaderSchema.parse(JSON.parse(bytes.toString()))
  } catch (error) {
    throw new BackupFault(`${place.shown} is not a backup of cartbarn, or its header was altered`, {
      cause: describeError(error),
    })
  }
}
