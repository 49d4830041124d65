import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import { outgoingOf } from './api-env.ts'
import { PacedResponse } from './connections/paced-response.ts'
import { namesTag } from './etags.ts'

const compress = promisify(gzip)

/** Encoding in which a document can be sent. */
export interface DocumentForm {
  encoding: 'br' | 'gzip' | 'identity'
  etag: string
  bytes: Uint8Array<ArrayBuffer>
}

/** Document that is generated once and kept in memory. */
export interface KeptDocument {
  type: string
  /** Smallest first; the last one is for clients that accept nothing else. */
  forms: readonly DocumentForm[]
}

/** Returns a text document, compressed and uncompressed. */
export async function keptText(type: string, text: string): Promise<KeptDocument> {
  const bytes = Buffer.from(text)
  const packed = Buffer.from(await compress(bytes))
  return { type, forms: [formOf('gzip', packed), formOf('identity', bytes)] }
}

export function keptBytes(type: string, bytes: Uint8Array<ArrayBuffer>): KeptDocument {
  return { type, forms: [formOf('identity', bytes)] }
}

function formOf(encoding: 'gzip' | 'identity', bytes: Uint8Array<ArrayBuffer>): DocumentForm {
  const digest = createHash('sha256').update(bytes).digest('hex')
  return { encoding, etag: `"${digest.slice(0, 32)}"`, bytes }
}

/** Sends a document, or 304; all connections share its bytes. */
export function sendKept(c: Context, { type, forms }: KeptDocument, headers: Record<string, string>): Response {
  const { encoding, etag, bytes } = formFor(c, forms)
  c.set('isKept', true)
  if (namesTag(c.req.header('if-none-match'), etag)) return c.body(null, 304, { ...headers, etag })
  const outgoing = outgoingOf(c)
  if (outgoing instanceof PacedResponse) outgoing.isShared = true
  return c.body(bytes, 200, {
    ...headers,
    etag,
    'content-type': type,
    'content-length': String(bytes.length),
    ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
  })
}

/** Returns the smallest form that the client accepts. */
function formFor(c: Context, forms: readonly DocumentForm[]): DocumentForm {
  const encoding = accepts(c, {
    header: 'Accept-Encoding',
    supports: forms.map((form) => form.encoding),
    default: 'identity',
    // most browsers give all listed encodings the same weight
    match: (accepted, { supports }) =>
      supports.find((each) => accepted.some(({ type, q }) => type.toLowerCase() === each && q > 0)) ?? 'identity',
  })
  const form = forms.find((each) => each.encoding === encoding) ?? forms.at(-1)
  if (form === undefined) throw new Error('a document has no content')
  return form
}
