import type { Context } from 'hono'
import { z } from 'zod'
import { namesTag } from './etags.ts'
import { described, problems, streamed } from './responses.ts'

interface Photo {
  /** Identifies the image among all versions. */
  readonly hash: string
  readonly contentType: string
  readonly bytes: number
}

/** `responses` of a route that returns the image; `statuses` lists its errors besides 404. */
export const photoResponses = {
  200: { description: 'Image of the course photo.', content: { 'image/*': { schema: z.string() } } },
  304: { description: 'Not modified since the version in If-None-Match.' },
  ...problems(404),
}

export function photoEtag({ hash }: Pick<Photo, 'hash'>): string {
  return `"${hash}"`
}

/** Returns a 304 response if the caller has this photo already; null otherwise. */
export function notModifiedResponse(c: Context, photo: Photo): Response | null {
  return namesTag(c.req.header('if-none-match'), photoEtag(photo)) ? c.body(null, 304, headersOf(photo)) : null
}

/** Returns the image as a whole, or in chunks as they are read. */
export function answerPhoto(c: Context, photo: Photo, image: Uint8Array<ArrayBuffer> | ReadableStream): never {
  const headers = { ...headersOf(photo), 'content-type': photo.contentType }
  if (image instanceof ReadableStream) return streamed(c, image, { ...headers, 'content-length': String(photo.bytes) })
  return described(c.body(image, 200, headers))
}

/** Prevents a browser that opens the image directly from executing anything in it. */
function headersOf(photo: Photo): Record<string, string> {
  return {
    etag: photoEtag(photo),
    'cache-control': 'private, no-cache',
    'content-security-policy': "default-src 'none'; sandbox",
  }
}
