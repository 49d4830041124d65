import { createHash } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { readProgramFile } from '#shared/program-files.ts'
import { createApiOf, type RequestEnv } from '../api-env.ts'
import { type KeptDocument, keptText, sendKept } from '../documents.ts'
import type { OpenApiDocument } from '../openapi.ts'
import { described } from '../responses.ts'
import { route } from '../route.ts'
import { type DocsContent, type PageParts, renderDocsPage } from './page.ts'

const ifNoneMatch = z.object({
  'if-none-match': z
    .string()
    .optional()
    .meta({ description: 'ETag of the cached version; if it is current, the response is 304.' }),
})
const cacheHeaders = z.object({ ETag: z.string().meta({ description: 'ETag that changes with the document.' }) })
const NOT_MODIFIED = { description: 'Not modified since the cached version.', headers: cacheHeaders }

/** Placeholder for the host, which differs per reader. */
const HOST = 'this-host.invalid'
/** Host in pages for origins beyond the cached ones, as a Host header may contain anything. */
const OTHER_ORIGIN = 'http://localhost'
/** Number of origins whose page is cached. */
const PAGES_KEPT = 8

/** Serves `/openapi.json` and `/docs`, the API documentation of this program, both generated at the first request. */
export function createDocsApi<Env extends RequestEnv>(
  createDocument: () => OpenApiDocument,
  about: DocsContent,
): OpenAPIHono<Env> {
  const api = createApiOf<Env>()
  let document: OpenApiDocument | undefined
  let json: Promise<KeptDocument> | undefined
  let page: { text: string; policy: string } | undefined
  const pages = new Map<string, Promise<KeptDocument>>()

  api.openapi(
    route.get('/openapi.json', 'Get this document', {
      operationId: 'getOpenApiDocument',
      description: 'OpenAPI 3.1 document, generated from the schemas that validate requests. Needs no key.',
      request: { headers: ifNoneMatch },
      responses: {
        200: {
          description: 'OpenAPI document.',
          headers: cacheHeaders,
          content: { 'application/json': { schema: z.record(z.string(), z.unknown()) } },
        },
        304: NOT_MODIFIED,
      },
    }),
    async (c) => {
      document ??= createDocument()
      json ??= keptText('application/json', JSON.stringify(document))
      return described(sendKept(c, await json, { 'cache-control': 'no-cache' }))
    },
  )

  api.openapi(
    route.get('/docs', 'Read this document', {
      operationId: 'getDocs',
      description: 'API documentation as a web page. Needs no key and no internet access.',
      request: { headers: ifNoneMatch },
      responses: {
        200: {
          description: 'Web page.',
          headers: cacheHeaders,
          content: { 'text/html': { schema: z.string() } },
        },
        304: NOT_MODIFIED,
      },
    }),
    async (c) => {
      document ??= createDocument()
      page ??= createPage(document, about)
      const { text, policy } = page
      const headers = { 'cache-control': 'no-cache', 'content-security-policy': policy }
      const { origin } = new URL(c.req.url)
      const shown = pages.has(origin) || pages.size < PAGES_KEPT ? origin : OTHER_ORIGIN
      const kept = pages.get(shown) ?? keptText('text/html; charset=UTF-8', withAddress(text, shown))
      pages.set(shown, kept)
      return described(sendKept(c, await kept, headers))
    },
  )

  return api
}

function createPage(document: OpenApiDocument, about: DocsContent): { text: string; policy: string } {
  const parts: PageParts = { style: readPart('docs.css'), script: readPart('script.mjs') }
  const policy = [
    `default-src 'none'`,
    `style-src 'sha256-${digest(parts.style)}'`,
    `script-src 'sha256-${digest(parts.script)}'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
  return { text: renderDocsPage(document, about, `http://${HOST}`, parts), policy }
}

function readPart(name: string): string {
  return readProgramFile(`shared/http/docs/${name}`).toString()
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

/** Inserts the origin that the reader used; a Host header with anything else is not echoed. */
function withAddress(text: string, url: string): string {
  const { protocol, host, hostname } = new URL(url)
  if (!/^[a-z0-9.:[\]-]+$/i.test(host)) return text.replaceAll(HOST, 'localhost')
  return text
    .replaceAll(`http://${HOST}`, `${protocol}//${host}`)
    .replaceAll(`ws://${HOST}`, `${protocol.replace('http', 'ws')}//${host}`)
    .replaceAll(HOST, hostname)
}
