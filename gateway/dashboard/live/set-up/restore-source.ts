import type { ApiClient } from '#shared/client.ts'
import type { RestoreSourceInput } from '#shared/wire/backups.ts'
import { keepText, readKept } from '../page/kept-text.ts'

export type SourceKind = RestoreSourceInput['kind']

/** Fields of a source that a user types, in their order. */
export const SOURCE_FIELDS = {
  stick: [],
  upload: [],
  bucket: ['endpoint', 'bucket', 'prefix', 'region', 'key_id', 'secret'],
  head_office: ['url', 'key'],
} as const satisfies Record<SourceKind, readonly string[]>
export type SourceField = (typeof SOURCE_FIELDS)[SourceKind][number]
export type SourceValues = Readonly<Partial<Record<SourceField | 'path', string>>>

/** Returns the source in the form of the API; an empty region is the default. */
export function sourceOf(kind: SourceKind, values: SourceValues): RestoreSourceInput {
  const {
    path = '',
    endpoint = '',
    bucket = '',
    prefix = '',
    region = '',
    key_id = '',
    secret = '',
    url = '',
    key = '',
  } = values
  if (kind === 'upload') return { kind }
  if (kind === 'stick') return { kind, path }
  if (kind === 'head_office') return { kind, url, key }
  return { kind, endpoint, bucket, prefix, key_id, secret, ...(region === '' ? {} : { region }) }
}

/** Size of a piece: progress stays visible over a slow network; the gateway takes up to twice as much. */
const PIECE_BYTES = 4 * 1_048_576

/** Uploads a backup file in pieces; `onProgress` gets the fraction. */
export async function uploadBackup(api: ApiClient, file: Blob, onProgress: (done: number) => void): Promise<void> {
  let offset = 0
  do {
    const body = file.slice(offset, offset + PIECE_BYTES, 'application/octet-stream')
    await api.call('PUT /setup/upload', { query: { offset }, body })
    offset += body.size
    onProgress(offset / file.size)
  } while (offset < file.size)
}

const RUNNING = 'cartbarn.restore'

/** Returns the id of the restore that this tab requested; null without one. */
export function keptRestore(): string | null {
  return readKept(() => sessionStorage, RUNNING)
}

/** Keeps the id for a reload; null forgets it. Without storage the progress is lost with the page, not the restore. */
export function keepRestore(id: string | null): void {
  keepText(() => sessionStorage, RUNNING, id)
}
