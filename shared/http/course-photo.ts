import type { Context } from 'hono'
import { z } from 'zod'
import { namesTag } from './etags.ts'
import { described, problems, streamed } from './responses.ts'

/** The photo of a course as its answer needs it. */
interface Photo {
  /** Names the image among all there were. */
  readonly hash: string
  readonly contentType: string
  readonly bytes: number
}

/** The `responses` of a route that answers the image; `statuses` are those of its errors besides 404. */
export const photoResponses = {
  200: { description: 'The image.', content: { 'image/*': { schema: z.string() } } },
  304: { description: 'It is still the one in If-None-Match.' },
  ...problems(404),
}

export function photoEtag({ hash }: Pick<Photo, 'hash'>): string {
  return `"${hash}"`
}

/** The answer to a caller that has this photo already; null for one that has not. */
export function notModifiedResponse(c: Context, photo: Photo): Response | null {
  return namesTag(c.req.header('if-none-match'), photoEtag(photo)) ? c.body(null, 304, headersOf(photo)) : null
}

/** The answer with the image, as a whole or in pieces as they are read. */
export function answerPhoto(c: Context, photo: Photo, image: Uint8Array<ArrayBuffer> | ReadableStream): never {
  const headers = { ...headersOf(photo), 'content-type': photo.contentType }
  if (image instanceof ReadableStream) return streamed(c, image, { ...headers, 'content-length': String(photo.bytes) })
  return described(c.body(image, 200, headers))
}

/** Whatever the image holds, a browser that opens it alone runs nothing of it. */
function headersOf(photo: Photo): Record<string, string> {
  return {
    etag: photoEtag(photo),
    'cache-control': 'private, no-cache',
    'content-security-policy': "default-src 'none'; sandbox",
  }
}
