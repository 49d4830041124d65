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

const HEADER = 'cartbarn-backup.json'
const MOST_HEADER_BYTES = 64 * 1024
const SNAPSHOTS = 'snapshots'
const BLOBS = 'blobs'
const SNAPSHOT_NAME = /^snapshots\/(\d{6,15})-\d{8}T\d{6}Z$/

/** One backup of a set, as it is named. */
export interface Snapshot {
  readonly name: string
  readonly number: number
}

/** The beginnings of sets that a gateway knows of its place, as JSON; any other was not written by it. */
export interface SetMemory {
  /** Empty: it knows none yet, and takes what is there. */
  readonly known: readonly string[]
  readonly remember: (header: string) => void
}

/**
 * All backups of one place: a header, `snapshots/` with a manifest each, and `blobs/` with the parts that manifests
 * name by their content, so that a part is there once however many backups need it.
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

  /**
   * Opens the set of a place, which is open, and begins one where there is none. With a passphrase it is encrypted or
   * refused, whatever is there. Throws `BackupFault`.
   */
  static async openOrBegin(
    place: BackupPlace,
    passphrase: string | undefined,
    { known, remember }: SetMemory = { known: [], remember: () => undefined },
  ): Promise<BackupSet> {
    const header = await readHeader(place)
    if (header === null) return BackupSet.#begin(place, passphrase, remember)
    if (passphrase !== undefined && header.encryption === null)
      throw new BackupFault(
        `${place.shown} has backups that are not encrypted, and a passphrase was given: nothing was written; name another folder, or move away what is there`,
      )
    const isKnown = known.length === 0 || known.includes(JSON.stringify(header))
    try {
      const set = await BackupSet.open(place, passphrase)
      // of two sticks in turn each has a beginning of its own, and backups that belong to it
      if (!isKnown) await set.#requireBackup()
      remember(JSON.stringify(header))
      return set
    } catch (error) {
      if (isKnown || error instanceof UnreachableFault) throw error
      throw new BackupFault(
        `${place.shown}: ${HEADER} is not the one that this gateway wrote: nothing was written; put that file back, or name another folder`,
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
        `${place.shown}: ${HEADER} is missing, without which no backup there can be read: put it back, or name another folder`,
      )
    // first, so that one that was cut off is known as well
    remember(JSON.stringify(header))
    await place.write(HEADER, Buffer.from(`${JSON.stringify(header, null, 2)}\n`))
    return set
  }

  /** Throws `BackupFault` when there is no set, when a newer program made it, or for a wrong passphrase. */
  static async open(place: BackupPlace, passphrase: string | undefined): Promise<BackupSet> {
    const header = await readHeader(place)
    if (header === null) throw new BackupFault(`${place.shown} has no backup of cartbarn`)
    if (header.version > BACKUP_VERSION)
      throw new BackupFault(
        `${place.shown} was made by a newer cartbarn (format ${header.version}, this one knows ${BACKUP_VERSION}): use that one`,
      )
    if (passphrase !== undefined && header.encryption === null)
      throw new BackupFault(
        `${place.shown} is not encrypted, though a passphrase was given: if it should be, it was replaced; if it was made without one, leave --passphrase-file out`,
      )
    return new BackupSet(place, header, BlobCipher.open(header, passphrase))
  }

  /** Throws `BackupFault` unless its newest backup can be read. */
  async #requireBackup(): Promise<void> {
    const newest = (await this.snapshots()).at(-1)
    if (newest === undefined) throw new BackupFault('there is none')
    await this.readManifest(newest)
  }

  /** Whether the place still begins as it did: of two that begin one at once, one overwrites the other. */
  async isStillThere(): Promise<boolean> {
    const header = await readHeader(this.place)
    return JSON.stringify(header) === JSON.stringify(this.#header)
  }

  /** All backups, the oldest first. */
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
    if (sealed === null) throw new BackupFault(`${this.place.shown}: ${name} is gone`)
    const plain = this.cipher.open(name, sealed, MOST_MANIFEST_BYTES)
    try {
      return backupManifestSchema.parse(JSON.parse(plain.toString()))
    } catch (error) {
      throw new BackupFault(`${this.place.shown}: ${name} is not as this program writes it`, { cause: error })
    }
  }

  async writeManifest(manifest: BackupManifest): Promise<Snapshot> {
    const { number, atMs } = manifest
    const at = new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '')
    const name = `${SNAPSHOTS}/${String(number).padStart(6, '0')}-${at}`
    const plain = Buffer.from(JSON.stringify(manifest))
    if (plain.length > MOST_MANIFEST_BYTES)
      throw new BackupFault(`${this.place.shown}: the database has too many parts for a backup`)
    await this.place.write(name, this.cipher.seal(name, plain))
    return { name, number }
  }

  /** The parts that are there, with what they take. */
  async blobs(): Promise<Map<string, number>> {
    const files = await this.place.list(BLOBS)
    return new Map(
      files.flatMap(({ name, bytes }) => {
        const id = name.slice(name.lastIndexOf('/') + 1)
        // no other name is ever used: a store may list any
        return PART_ID.test(id) && name === blobName(id) ? [[id, bytes] as const] : []
      }),
    )
  }

  /** Returns how many bytes it takes. */
  async writeBlob(id: string, plain: Buffer): Promise<number> {
    if (plain.length > MOST_PART_BYTES)
      throw new BackupFault(`a row of the database has ${plain.length} bytes, which is too much for a backup`)
    const sealed = this.cipher.seal(id, plain)
    await this.place.write(blobName(id), sealed)
    return sealed.length
  }

  /**
   * What was written under this name. Throws `BackupFault` when it is gone, damaged, altered or larger than
   * `mostBytes`.
   */
  async readBlob(id: string, mostBytes: number): Promise<Buffer> {
    const sealed = await this.place.read(blobName(id), MOST_SEALED_BYTES)
    if (sealed === null) throw new BackupFault(`${this.place.shown}: a part is missing (${id.slice(0, 12)})`)
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
    throw new BackupFault(`${place.shown} is no backup of cartbarn, or its beginning was altered`, {
      cause: describeError(error),
    })
  }
}
