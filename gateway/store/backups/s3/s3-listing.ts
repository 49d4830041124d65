import { SaxesParser } from 'saxes'
import type { PlacedFile } from '../place.ts'

export interface S3Page {
  readonly files: readonly PlacedFile[]
  /** Token to request the next page; undefined on the last one. */
  readonly next: string | undefined
}

const NUMBER = /^\d{1,15}$/

/**
 * Parses a response to ListObjectsV2. Throws an `Error` if it is not one. Source:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
 */
export function readS3Page(xml: string): S3Page {
  const parser = new SaxesParser({ position: false })
  const path: string[] = []
  const files: PlacedFile[] = []
  let entry: { key?: string; size?: string } = {}
  let [text, root, isCut, token]: [string, string | undefined, boolean, string | undefined] = [
    '',
    undefined,
    false,
    undefined,
  ]
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ name }) => {
    root ??= name
    path.push(name)
    text = ''
  })
  parser.on('text', (piece) => {
    text += piece
  })
  parser.on('closetag', ({ name }) => {
    path.pop()
    const parent = path.at(-1)
    if (parent === 'Contents' && name === 'Key') entry.key = text
    else if (parent === 'Contents' && name === 'Size') entry.size = text
    else if (name === 'IsTruncated') isCut = text === 'true'
    else if (name === 'NextContinuationToken') token = text
    else if (name === 'Contents') {
      files.push(fileOf(entry))
      entry = {}
    }
    text = ''
  })
  parser.write(xml).close()
  if (root !== 'ListBucketResult') throw new Error(`expected a list, received ${root}`)
  if (isCut && !token) throw new Error('a truncated list has no continuation token')
  return { files, next: isCut ? token : undefined }
}

function fileOf({ key, size }: { key?: string; size?: string }): PlacedFile {
  if (key === undefined || size === undefined || !NUMBER.test(size))
    throw new Error('a list has an entry without a name or a size')
  return { name: key, bytes: Number(size) }
}
