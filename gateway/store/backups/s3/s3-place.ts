import { BackupFault } from '../backup-fault.ts'
import type { BackupPlace, PlacedFile } from '../place.ts'
import type { S3Address, S3Settings } from './s3-address.ts'
import { MOST_S3_BYTES, S3Client, type S3Timeouts } from './s3-client.ts'
import { readS3Page, type S3Page } from './s3-listing.ts'

/** Backups in a bucket of an S3-compatible store. A file under its name is always complete. */
export class S3Place implements BackupPlace {
  readonly shown: string
  readonly isRemote = true
  readonly #prefix: string
  readonly #client: S3Client

  constructor({ bucket, prefix }: S3Address, settings: S3Settings, patience?: S3Timeouts) {
    this.shown = `s3://${bucket}/${prefix}`
    this.#prefix = prefix
    this.#client = new S3Client(settings, bucket, this.shown, patience)
  }

  /** Detects a missing bucket, or a key that may not list it, before anything is written. */
  async open(): Promise<void> {
    await this.#page(this.#prefix, undefined, 1)
  }

  async list(folder: string): Promise<PlacedFile[]> {
    const all: PlacedFile[] = []
    for (let after: string | undefined; ; ) {
      const { files, next } = await this.#page(`${this.#prefix}${folder}/`, after)
      for (const { name, bytes } of files) all.push({ name: name.slice(this.#prefix.length), bytes })
      if (next === undefined) return all
      if (next === after) throw new BackupFault(`${this.shown}: the store repeats the same list`)
      after = next
    }
  }

  async read(name: string, mostBytes: number): Promise<Buffer | null> {
    const { isFound, body } = await this.#client.send({ method: 'GET', key: this.#prefix + name, mostBytes })
    return isFound ? body : null
  }

  async write(name: string, content: Buffer): Promise<void> {
    if (content.length > MOST_S3_BYTES)
      throw new BackupFault(`${this.shown}: a chunk has ${content.length} bytes, more than the store accepts`)
    await this.#client.send({ method: 'PUT', key: this.#prefix + name, content })
  }

  async remove(name: string): Promise<void> {
    await this.#client.send({ method: 'DELETE', key: this.#prefix + name })
  }

  async finish(): Promise<void> {
    // each chunk became permanent when it was written
  }

  async close(): Promise<void> {
    // nothing is open
  }

  async #page(prefix: string, after: string | undefined, most?: number): Promise<S3Page> {
    const query = {
      'list-type': '2',
      prefix,
      ...(after === undefined ? {} : { 'continuation-token': after }),
      ...(most === undefined ? {} : { 'max-keys': String(most) }),
    }
    const { isFound, body } = await this.#client.send({ method: 'GET', key: '', query })
    if (!isFound) throw new BackupFault(`${this.shown}: there is no such bucket`)
    try {
      return readS3Page(body.toString())
    } catch (error) {
      throw new BackupFault(`${this.shown}: does not speak S3`, { cause: error })
    }
  }
}
