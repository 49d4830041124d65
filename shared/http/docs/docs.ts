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
    .meta({ description: 'The ETag of what you have; the answer is 304 if that is still right.' }),
})
const cacheHeaders = z.object({ ETag: z.string().meta({ description: 'Changes with the document.' }) })
const NOT_MODIFIED = { description: 'Still what you have.', headers: cacheHeaders }

/** Stands for the host, which every reader calls differently. */
const HOST = 'this-host.invalid'
/** What the page names for readers with other addresses than the first few, as a Host header may hold anything. */
const OTHER_ORIGIN = 'http://localhost'
/** Addresses for which the page is made, once. */
const PAGES_KEPT = 8

/** `/openapi.json` and `/docs`: what this program can do. Both are made once, when they are first asked for. */
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
      description: 'OpenAPI 3.1, made from what validates the requests. Needs no key.',
      request: { headers: ifNoneMatch },
      responses: {
        200: {
          description: 'The OpenAPI document.',
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
      description: 'The same for people. Needs no key, and nothing from the internet.',
      request: { headers: ifNoneMatch },
      responses: {
        200: {
          description: 'A page.',
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

/** The page with the address the reader has used; what else a Host header may hold is not repeated. */
function withAddress(text: string, url: string): string {
  const { protocol, host, hostname } = new URL(url)
  if (!/^[a-z0-9.:[\]-]+$/i.test(host)) return text.replaceAll(HOST, 'localhost')
  return text
    .replaceAll(`http://${HOST}`, `${protocol}//${host}`)
    .replaceAll(`ws://${HOST}`, `${protocol.replace('http', 'ws')}//${host}`)
    .replaceAll(HOST, hostname)
}
