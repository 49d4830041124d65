import { createHash } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { html, raw } from 'hono/html'
import { NotFoundError } from '#shared/errors.ts'
import { helpAddress } from '#shared/help-pages.ts'
import { type KeptDocument, keptBytes, keptText, sendKept } from '#shared/http/documents.ts'
import { readProgramFile } from '#shared/program-files.ts'
import { type ApiEnv, createApi } from '../api-env.ts'
import { DOCS, type HelpPages, readHelp } from './help-pages.ts'
import type { RenderedDocument } from './markdown.ts'

const STYLE = readProgramFile('gateway/api/help/help.css').toString()

/** Content security policy of the help pages: display only, with pictures of this host. */
const HELP_POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  `img-src 'self' data:`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

type Html = ReturnType<typeof html>

function renderHelpPage(document: RenderedDocument): Html {
  // safe: `renderMarkdown` lets no HTML of the document through
  return frame(document.title, html`${raw(document.html)}`)
}

function renderHelpIndex({ pages }: HelpPages): Html {
  const rows = [...pages].map(([page, { title }]) => html`<li><a href="${helpAddress(page)}">${title}</a></li>`)
  return frame(
    'Help',
    html`<h1>Help</h1>
<ul class="pages">${rows}</ul>
<p>For programs: <a href="/docs">the API</a>.</p>`,
  )
}

function frame(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - cartbarn</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<nav aria-label="Help"><a href="/app/">To the app</a> <a href="/help/">All pages</a></nav>
<main>
${content}
</main>
</body>
</html>
`
}

const PREFIX = '/help/'
const PICTURES = 'pictures/'
const PAGE = 'text/html; charset=UTF-8'
const HEADERS = { 'cache-control': 'no-cache' }
const PAGE_HEADERS = { ...HEADERS, 'content-security-policy': HELP_POLICY }

/** `/help/`: the documentation for the people of the course; needs no key, no app and no internet. */
export function createHelpApi(folder = DOCS): OpenAPIHono<ApiEnv> {
  const api = createApi()
  let files: Promise<ReadonlyMap<string, KeptDocument>> | undefined

  // middleware, because routes would be listed in the API document
  api.use(`${PREFIX}*`, async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next()
    // c.req.path drops a trailing slash
    const { pathname: path } = new URL(c.req.url)
    if (!path.startsWith(PREFIX)) return c.redirect(PREFIX)
    // loaded on the first request, so that a gateway without help readers spends no memory on it
    files ??= import('./markdown.ts').then(({ renderMarkdown }) => keptHelp(readHelp(folder, renderMarkdown)))
    const file = (await files).get(path.slice(PREFIX.length))
    if (file === undefined) throw new NotFoundError('not_found', `there is nothing at ${path}`)
    return sendKept(c, file, file.type === PAGE ? PAGE_HEADERS : HEADERS)
  })

  return api
}

/** Collects the files to send, keyed by name below `/help/`. */
async function keptHelp(shelf: HelpPages): Promise<ReadonlyMap<string, KeptDocument>> {
  const kept = new Map<string, KeptDocument>()
  for (const [name, bytes] of shelf.pictures) kept.set(`${PICTURES}${name}`, keptBytes('image/png', bytes))
  for (const [name, page] of shelf.pages) kept.set(name, await keptText(PAGE, String(await renderHelpPage(page))))
  return kept.set('', await keptText(PAGE, String(await renderHelpIndex(shelf))))
}
